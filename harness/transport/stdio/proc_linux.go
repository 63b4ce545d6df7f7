package stdio

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// procAttr puts the child into its own process group, so that its own children
// can be ended with it (T18), and has the kernel end it with the gateway. The
// kernel means the thread that started it: see child.run.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the process has ended and its group is gone. It waits
// without reaping first, so that neither its id nor the id of its group can be
// given to another before the group is ended.
func awaitExit(c *child) {
	for {
		err := unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	c.reap()
}

// unread counts the bytes nobody has read from the pipe behind its write end,
// or -1 if that cannot be told.
func unread(f *os.File) int {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1
	}
	n := -1
	_ = raw.Control(func(fd uintptr) {
		if v, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n = v
		}
	})
	return n
}
