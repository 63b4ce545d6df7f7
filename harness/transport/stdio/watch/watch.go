// Package watch ends the process groups of a gateway that was killed. The
// kernel can end the direct children of a dead process (Pdeathsig), not theirs;
// a small second process can, because it sees the pipe to the gateway close.
package watch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

// ErrClosed is returned by Add after the last Close.
var ErrClosed = errors.New("watcher is closed")

// A Watcher tells the second process which groups live. It starts that process
// with the first group and starts another should it die.
type Watcher struct {
	mu     sync.Mutex
	refs   int
	groups map[int]struct{}
	proc   *proc
}

type proc struct {
	pid  int
	pipe *os.File
	done chan struct{}
}

// Start returns a Watcher with one reference, to be dropped by Close. The
// process itself starts when there is something to watch.
func Start() *Watcher {
	return &Watcher{refs: 1, groups: make(map[int]struct{})}
}

// Retain adds a reference: every user closes its own.
func (w *Watcher) Retain() *Watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refs++
	return w
}

// Add watches a process group.
func (w *Watcher) Add(pgid int) error {
	if pgid <= 1 {
		return fmt.Errorf("process group %d cannot be watched", pgid)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refs <= 0 {
		return ErrClosed
	}
	w.groups[pgid] = struct{}{}
	if w.proc != nil && w.proc.send('+', pgid) == nil {
		return nil
	}
	return w.restart()
}

// Remove forgets a group. Call it after the group's leader was reaped; between
// that and this call the id names nobody unless it is used again, so the two
// belong close together.
func (w *Watcher) Remove(pgid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.groups, pgid)
	if w.proc != nil {
		_ = w.proc.send('-', pgid) // a dead process gets the right list when it is replaced
	}
}

// PID returns the id of the second process, 0 if there is none.
func (w *Watcher) PID() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.proc == nil {
		return 0
	}
	return w.proc.pid
}

// Close drops a reference. The last one ends the second process, and with it
// every group that is still registered.
func (w *Watcher) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refs > 0 {
		w.refs--
	}
	if w.refs == 0 {
		w.proc.end()
		w.proc = nil
	}
	return nil
}

// restart replaces the second process by one that knows all groups.
func (w *Watcher) restart() error {
	w.proc.end()
	w.proc = nil
	p, err := launch()
	if err != nil {
		return fmt.Errorf("starting the watcher: %w", err)
	}
	w.proc = p
	for pgid := range w.groups {
		if err := p.send('+', pgid); err != nil {
			return fmt.Errorf("telling the watcher: %w", err)
		}
	}
	return nil
}

func launch() (*proc, error) {
	r, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	exe, err := self()
	if err != nil {
		_ = pipe.Close()
		return nil, err
	}
	cmd := &exec.Cmd{
		Path:        exe,
		Args:        []string{argv0},
		Env:         []string{envName + "=1"},
		Dir:         "/",
		Stdin:       r, // nil output and error mean /dev/null
		SysProcAttr: procAttr(),
	}
	if err := cmd.Start(); err != nil {
		_ = pipe.Close()
		return nil, err
	}
	p := &proc{pipe: pipe, pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
	}()
	return p, nil
}

func (p *proc) send(op byte, pgid int) error {
	line := append([]byte{op}, strconv.Itoa(pgid)...)
	_, err := p.pipe.Write(append(line, '\n'))
	return err
}

func (p *proc) end() {
	if p == nil {
		return
	}
	_ = p.pipe.Close()
	<-p.done
}
