package stdio

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// longAgo is a deadline that has passed: setting it wakes a blocked read or
// write at once.
var longAgo = time.Unix(1, 0)

// escapeGrace bounds the wait for the standard error of an ended child. Only a
// descendant that left the process group can hold it open.
const escapeGrace = 20 * time.Millisecond

// A child is one process. Except for interrupt, kill and stop it belongs to
// whoever holds its slot.
type child struct {
	pid     int
	cmd     *exec.Cmd
	in      *os.File
	out     *os.File
	now     nonblocking
	lines   lines
	ids     ids
	wbuf    []byte
	sent    int  // bytes of the current message the pipe took at once
	refused bool // the pipe took none of it, for good
	broken  bool // answered, but not fit for another exchange

	exited atomic.Bool
	done   chan struct{} // closed once reaped, with its group gone

	mu     sync.Mutex
	reaped bool

	// interrupt wakes whoever reads or writes. It is made once, so that handing
	// it to context.AfterFunc costs no closure per exchange.
	interrupt func()
}

// startChild starts a process and the goroutine that owns it.
func startChild(o *Options, env []string) (*child, error) {
	c := &child{done: make(chan struct{}), lines: lines{max: o.MaxRecord}}
	started := make(chan error, 1)
	go c.run(o, env, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run starts the process, waits for it and reaps it, all on one thread:
// Pdeathsig follows the thread that started the child, and the runtime ends
// idle threads as it likes.
func (c *child) run(o *Options, env []string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	stderr, err := c.spawn(o, env)
	if err != nil {
		started <- err
		return
	}
	if o.Watcher != nil {
		// Without a watcher the child still dies with us, only its own children
		// may not; that is no reason to refuse service.
		if err := o.Watcher.Add(c.pid); err != nil {
			o.Logger.Warn("process group is not watched", "pid", c.pid, "error", err)
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		drainStderr(stderr, o.Logger)
	}()
	started <- nil

	awaitExit(c)
	if o.Watcher != nil {
		o.Watcher.Remove(c.pid)
	}
	_ = stderr.SetReadDeadline(time.Now().Add(escapeGrace))
	<-drained
	c.exited.Store(true)
	_ = c.out.SetReadDeadline(longAgo)
	close(c.done)
}

// spawn connects own pipes: those of exec.Cmd tie Wait to whoever still holds
// the other end (golang/go#23019).
func (c *child) spawn(o *Options, env []string) (stderr *os.File, err error) {
	var files [6]*os.File
	defer func() {
		for i, f := range files {
			// The child's ends are closed in any case, ours only after a failure.
			if f != nil && (i%2 == 1 || err != nil) {
				_ = f.Close()
			}
		}
	}()
	if files[1], files[0], err = os.Pipe(); err != nil {
		return nil, err
	}
	if files[2], files[3], err = os.Pipe(); err != nil {
		return nil, err
	}
	if files[4], files[5], err = os.Pipe(); err != nil {
		return nil, err
	}
	c.cmd = exec.Command(o.Command, o.Args...) //nolint:gosec,noctx // the command is the operator's configuration; its end is managed here
	c.cmd.Dir = o.Dir
	c.cmd.Env = env
	c.cmd.SysProcAttr = procAttr()
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = files[1], files[3], files[5]
	if err = c.now.open(files[0], files[2]); err != nil {
		return nil, err
	}
	if err = c.cmd.Start(); err != nil {
		return nil, err
	}
	c.pid = c.cmd.Process.Pid
	c.in, c.out = files[0], files[2]
	c.interrupt = func() {
		_ = c.out.SetReadDeadline(longAgo)
		_ = c.in.SetWriteDeadline(longAgo)
	}
	return files[4], nil
}

// reap ends what is left of the group and frees its id.
func (c *child) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	_ = c.cmd.Wait() // its status is ignored (transports.md section 3)
	c.reaped = true
}

// signal reaches the whole group, and never a stranger that got its id later.
func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.pid, sig)
	}
}

// end kills the group at once and returns when it is gone and reaped.
func (c *child) end() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

func (c *child) closePipes() {
	_ = c.in.Close()
	_ = c.out.Close()
}

// stop asks before it kills: end of input, then SIGTERM, then SIGKILL.
func (c *child) stop(grace time.Duration) {
	_ = c.in.Close()
	_ = c.out.SetReadDeadline(time.Time{})
	drained := make(chan struct{})
	go func() { // last words must not block the child's way out
		defer close(drained)
		_, _ = discard(c.out)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-c.done:
		case <-timer.C:
			c.signal(sig)
			timer.Reset(grace)
		}
	}
	<-c.done
	_ = c.out.SetReadDeadline(longAgo)
	<-drained
	_ = c.out.Close()
}
