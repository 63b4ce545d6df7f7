//go:build unix && !linux

package stdio

import (
	"os"
	"syscall"
)

// procAttr puts the child into its own process group (T18). Only Linux can tie
// its life to the gateway's; elsewhere it sees end of input.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitExit returns when the process has ended. Its members are ended after it
// is reaped: waiting without reaping is not portable.
func awaitExit(c *child) {
	_, _ = c.cmd.Process.Wait()
	c.reap()
}

// unread cannot be told portably.
func unread(*os.File) int { return -1 }
