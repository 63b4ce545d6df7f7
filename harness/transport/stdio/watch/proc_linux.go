package watch

import "syscall"

// self names the running binary even after its file was replaced.
func self() (string, error) { return "/proc/self/exe", nil }

// procAttr gives the watcher a session of its own: a signal to the gateway's
// process group must spare it.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
