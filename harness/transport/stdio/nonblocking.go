package stdio

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// errBusy says that a pipe is empty, or full.
var errBusy = errors.New("pipe is not ready")

// nonblocking tries pipes once and never waits. Its functions are made once per
// child: closures made per call would be the hot path's only garbage.
type nonblocking struct {
	in, out           syscall.RawConn
	tryRead, tryWrite func(fd uintptr) bool
	p                 []byte
	n                 int
	err               error
}

func (b *nonblocking) open(in, out *os.File) (err error) {
	if b.in, err = in.SyscallConn(); err != nil {
		return err
	}
	if b.out, err = out.SyscallConn(); err != nil {
		return err
	}
	b.tryRead = func(fd uintptr) bool {
		b.n, b.err = retry(syscall.Read, int(fd), b.p)
		return true
	}
	b.tryWrite = func(fd uintptr) bool {
		b.n, b.err = retry(syscall.Write, int(fd), b.p)
		return true
	}
	return nil
}

// read returns errBusy if there is nothing, io.EOF if there never will be.
func (b *nonblocking) read(p []byte) (int, error) {
	b.p = p
	err := b.out.Read(b.tryRead)
	b.p = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(b.err, syscall.EAGAIN):
		return 0, errBusy
	case b.err != nil:
		return 0, b.err
	case b.n == 0:
		return 0, io.EOF
	}
	return b.n, nil
}

// write puts as much into the pipe as fits.
func (b *nonblocking) write(p []byte) (int, error) {
	b.p = p
	err := b.in.Write(b.tryWrite)
	b.p = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(b.err, syscall.EAGAIN):
		return 0, errBusy
	case b.err != nil:
		return 0, b.err
	}
	return b.n, nil
}

func retry(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
