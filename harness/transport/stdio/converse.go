package stdio

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// What can end a conversation. The pool turns them into coded errors.
var (
	errInterrupted = errors.New("exchange interrupted")
	errEnded       = errors.New("output ended before the answer")
	errTooLong     = errors.New("record over the limit")
	errBroken      = errors.New("input is closed")
)

const (
	// drainLimit bounds what is discarded before a request is sent. A pipe holds
	// at most this much on Linux; what comes after it is not older than the call.
	drainLimit = 1 << 20
	// writeGrace is how long a child that has answered may take to read the rest
	// of its request.
	writeGrace = 100 * time.Millisecond
)

// ready discards what the child has put out unasked (T25) and reports whether
// it can take a message: a child that died idle shows here.
func (c *child) ready() bool {
	if c.broken || c.exited.Load() {
		return false
	}
	c.lines.forget()
	scratch := c.lines.space()
	for total := 0; total < drainLimit; {
		n, err := c.now.read(scratch)
		if errors.Is(err, errBusy) {
			break
		}
		if err != nil {
			return false
		}
		c.lines.drop(scratch[:n])
		total += n
	}
	return c.lines.dropped <= c.lines.max
}

// send writes message and its line feed as far as the pipe takes it and returns
// the rest.
func (c *child) send(message []byte) (rest []byte, err error) {
	c.wbuf = append(append(c.wbuf[:0], message...), '\n')
	rest = c.wbuf
	n, err := c.now.write(rest)
	c.sent, c.refused = n, false
	if err != nil && !errors.Is(err, errBusy) {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errInterrupted
		}
		c.refused = true
		return nil, errBroken
	}
	if cap(c.wbuf) > keepBuffer {
		c.wbuf = nil
	}
	return rest[n:], nil
}

// writeRest writes what the pipe did not take at once. It needs a goroutine of
// its own: a child may have to be read from before it reads on. wake ends the
// reader's wait once all is written; a failure always does.
func (c *child) writeRest(rest []byte, closeAfter, wake bool) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := c.in.Write(rest)
		if err == nil && closeAfter {
			err = c.in.Close()
		}
		result <- err
		if err != nil || wake {
			_ = c.out.SetReadDeadline(longAgo)
		}
	}()
	return result
}

// request sends a message and waits for the record that answers it. When ctx
// ends first, stop reports false and the child must not be used again.
func (c *child) request(ctx context.Context, message []byte, id jsontext.Value, last bool, logger *slog.Logger) ([]byte, error) {
	stop := context.AfterFunc(ctx, c.interrupt)
	body, err := c.converse(message, id, last, logger)
	if !stop() {
		return nil, errInterrupted
	}
	return body, err
}

func (c *child) converse(message []byte, id jsontext.Value, last bool, logger *slog.Logger) ([]byte, error) {
	rest, err := c.send(message)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		if last {
			_ = c.in.Close()
		}
		return c.await(id, logger)
	}
	written := c.writeRest(rest, last, false)
	body, err := c.await(id, logger)
	if err != nil {
		_ = c.in.SetWriteDeadline(longAgo)
		werr := <-written
		if errors.Is(err, errInterrupted) && werr != nil && !errors.Is(werr, os.ErrDeadlineExceeded) {
			return nil, errBroken
		}
		return nil, err
	}
	// The answer counts. A child that does not take the rest of its request
	// would take the next one's beginning for it.
	_ = c.in.SetWriteDeadline(time.Now().Add(writeGrace))
	if <-written != nil {
		c.broken = true
	}
	_ = c.in.SetWriteDeadline(time.Time{})
	return body, nil
}

// await reads on until a record answers id. All else is discarded with a log
// line that gives its size only (T16).
func (c *child) await(id jsontext.Value, logger *slog.Logger) ([]byte, error) {
	for {
		line, ok, tooLong := c.lines.next()
		switch {
		case tooLong:
			return nil, errTooLong
		case ok && c.ids.answers(line, id):
			// The buffer is used again; the receiver gets its own copy. A CR before
			// the line feed is white space.
			return bytes.Clone(bytes.TrimRight(line, "\r")), nil
		case ok:
			logger.Debug("backend output discarded", "bytes", len(line))
			continue
		}
		n, err := c.read(c.lines.space())
		if err != nil {
			return nil, err
		}
		c.lines.add(n)
	}
}

// read waits for output. Once the process is gone it takes what is left in the
// pipe and no longer waits, though a descendant may hold the pipe open.
func (c *child) read(p []byte) (int, error) {
	if !c.exited.Load() {
		n, err := c.out.Read(p)
		switch {
		case n > 0:
			return n, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, errEnded
		case !c.exited.Load():
			return 0, errInterrupted
		}
	}
	_ = c.out.SetReadDeadline(time.Time{})
	n, err := c.now.read(p)
	if err != nil {
		return 0, errEnded
	}
	return n, nil
}

// notify writes a message nobody answers. Output meanwhile is discarded, so
// that a child blocked on it reads on.
func (c *child) notify(ctx context.Context, message []byte) error {
	rest, err := c.send(message)
	if err != nil || len(rest) == 0 {
		return err
	}
	stop := context.AfterFunc(ctx, c.interrupt)
	written := c.writeRest(rest, false, true)
	err = c.discard()
	_ = c.in.SetWriteDeadline(longAgo)
	werr := <-written
	if !stop() {
		return errInterrupted
	}
	switch {
	case errors.Is(werr, os.ErrDeadlineExceeded) && errors.Is(err, errInterrupted):
		return errInterrupted
	case werr != nil:
		return errBroken
	}
	_ = c.in.SetWriteDeadline(time.Time{})
	_ = c.out.SetReadDeadline(time.Time{})
	return nil
}

// closedInput stands for a write that is already done.
var closedInput = func() <-chan error {
	done := make(chan error)
	close(done)
	return done
}()

// last is notify for a process that serves this one message: it sees end of
// input after it and is awaited (T20).
func (c *child) last(ctx context.Context, message []byte, closing <-chan struct{}) error {
	rest, err := c.send(message)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, c.interrupt)
	defer stop()
	written := closedInput
	if len(rest) > 0 {
		written = c.writeRest(rest, true, false)
	} else {
		_ = c.in.Close()
	}
	err = c.discard()
	if errors.Is(err, errEnded) {
		// It may close its output and still be reading.
		select {
		case <-c.done:
			err = nil
		case <-ctx.Done():
			err = errInterrupted
		case <-closing:
			err = errInterrupted
		}
	}
	_ = c.in.SetWriteDeadline(longAgo)
	if werr := <-written; werr != nil && ctx.Err() == nil {
		return errBroken
	}
	return err
}

// discard reads until the output ends or someone interrupts.
func (c *child) discard() error {
	c.lines.forget()
	for {
		scratch := c.lines.space()
		n, err := c.read(scratch)
		if err != nil {
			return err
		}
		c.lines.drop(scratch[:n])
	}
}
