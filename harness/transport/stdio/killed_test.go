package stdio

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A gateway that is killed, by itself or with its process group, leaves neither
// child nor grandchild nor watcher.
func TestKilledGateway(t *testing.T) {
	for _, tt := range []struct {
		name string
		sign int
	}{{"process", 1}, {"group", -1}} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "HOOKGATE_FIXTURE=parent")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			first, body, _ := strings.Cut(line, " ")
			watcher, _ := strconv.Atoi(first)
			child := parse(t, []byte(body))
			grandchild, _ := strconv.Atoi(child.Tag)
			for _, pid := range []int{watcher, child.PID, grandchild} {
				if pid <= 1 || gone(pid) {
					t.Fatalf("not running before the kill: %q", line)
				}
			}
			eventually(t, 5*time.Second, "start of the watcher", func() bool { return ignoresTerm(watcher) })
			// To everything the gateway started, before the end: it must not disarm
			// the watcher.
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
				_ = syscall.Kill(watcher, sig)
			}
			_ = syscall.Kill(tt.sign*cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
			for name, pid := range map[string]int{"child": child.PID, "grandchild": grandchild, "watcher": watcher} {
				eventually(t, 2*time.Second, "end of the "+name, func() bool { return gone(pid) })
			}
		})
	}
}

// ignoresTerm reads the signal mask: the watcher is up once it ignores SIGTERM.
func ignoresTerm(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "SigIgn:\t")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits&(1<<(syscall.SIGTERM-1)) != 0
}
