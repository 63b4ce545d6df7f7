//go:build unix

package httpcall

import "syscall"

// pending reports whether a read would return at once, be it with the end.
func pending(fd uintptr) bool {
	var b [1]byte
	for {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err != syscall.EINTR { //nolint:errorlint // an errno is returned as it is
			return err != syscall.EAGAIN //nolint:errorlint // as above
		}
	}
}
