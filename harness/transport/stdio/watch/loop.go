package watch

import (
	"bufio"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

const (
	argv0   = "hookgate-watch"
	envName = "HOOKGATE_WATCH"
)

// init turns a process that was started as a watcher into one, before main and
// before any other package does its work. A command or flag would need the
// co-operation of main, and main is not ours: xcaddy writes its own, and a Go
// program that uses the library has another. Both the name and the variable
// must match, so that neither an inherited variable nor a link does it.
func init() {
	if len(os.Args) == 1 && os.Args[0] == argv0 && os.Getenv(envName) == "1" {
		// Only end of input ends it: signals sent to everything the gateway
		// started must not disarm it first.
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
		for pgid := range survivors(os.Stdin) {
			_ = syscall.Kill(-pgid, syscall.SIGKILL)
		}
		os.Exit(0)
	}
}

// survivors reads "+PGID" and "-PGID" lines to the end of input and returns
// the groups added and not removed. An unfinished last line counts for nothing.
func survivors(r io.Reader) map[int]struct{} {
	groups := make(map[int]struct{})
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return groups
		}
		if len(line) < 3 {
			continue
		}
		// Group 1 and below would reach everybody.
		pgid, err := strconv.Atoi(line[1 : len(line)-1])
		if err != nil || pgid <= 1 {
			continue
		}
		switch line[0] {
		case '+':
			groups[pgid] = struct{}{}
		case '-':
			delete(groups, pgid)
		}
	}
}
