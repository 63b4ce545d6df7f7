//go:build unix && !linux

package watch

import (
	"os"
	"syscall"
)

func self() (string, error) { return os.Executable() }

// procAttr gives the watcher a session of its own: a signal to the gateway's
// process group must spare it.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
