package stdio

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

// R92: each way a process can fail has its code, and T17: the next message is
// served by a new one.
func TestR92Failures(t *testing.T) {
	for _, do := range []string{"die", "closeout"} {
		t.Run(do, func(t *testing.T) {
			p := newPool(t, "serve", nil)
			before := p.ask(t, `1`, "echo", "", 0)
			_, err := p.Exchange(t.Context(), message(`1`, do, "", 0))
			wantFault(t, err, protocol.ProtocolRejection, protocol.FaultProcess)
			if !reaped(before.PID) {
				t.Fatal("process was kept")
			}
			if got := p.ask(t, `1`, "echo", "", 0); got.PID == before.PID {
				t.Fatal("process was used again")
			}
		})
	}
	t.Run("missing command", func(t *testing.T) {
		p := newPool(t, "serve", func(o *Options) { o.Command = "/nonexistent/hook" })
		_, err := p.Exchange(t.Context(), message(`1`, "echo", "", 0))
		wantFault(t, err, protocol.TransportFault, protocol.FaultProcess)
	})
	t.Run("exits at once", func(t *testing.T) {
		p := newPool(t, "none", nil)
		_, err := p.Exchange(t.Context(), message(`1`, "echo", "", 0))
		fault, ok := errors.AsType[*transport.Error](err)
		if !ok || fault.Kind != protocol.FaultProcess {
			t.Fatalf("got %v", err)
		}
		if got := p.Stats().Starts; got != 1 {
			t.Fatalf("%d starts for one message", got)
		}
	})
}

// A process that exits after answering is replaced without failing the next
// use, however far its exit has come by then (section 3).
func TestIdleDeath(t *testing.T) {
	p := newPool(t, "serve", nil)
	for i := range 61 {
		tag := strconv.Itoa(i)
		if got := p.ask(t, `1`, "exit", tag, 0); got.Tag != tag {
			t.Fatalf("got %+v", got)
		} else if i%2 == 0 {
			eventually(t, 10*time.Second, "exit", func() bool { return reaped(got.PID) })
		}
	}
	if err := p.Notify(t.Context(), message(`1`, "report", "told", 0)); err != nil {
		t.Fatal(err)
	}
	p.expect(t, "told")
}

// T18: a descendant that holds the pipes neither outlives an exchange's failure
// nor the end of its parent.
func TestT18Grandchild(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(t *testing.T, p bench)
	}{
		{"close", func(_ *testing.T, p bench) { _ = p.Close() }},
		{"crash", func(t *testing.T, p bench) {
			_, err := p.Exchange(t.Context(), message(`1`, "die", "", 0))
			wantFault(t, err, protocol.ProtocolRejection, protocol.FaultProcess)
		}},
		{"cancel", func(t *testing.T, p bench) {
			ctx, cancel := context.WithCancel(t.Context())
			result := p.start(ctx, `1`, "hang", "x")
			p.expect(t, "hang x")
			cancel()
			<-result
		}},
		{"exit after an answer", func(t *testing.T, p bench) { p.ask(t, `1`, "exit", "", 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, "serve", nil)
			r := p.ask(t, `1`, "grandchild", "", 0)
			pid, _ := strconv.Atoi(r.Tag)
			if gone(pid) {
				t.Fatal("the grandchild never ran")
			}
			tt.end(t, p)
			eventually(t, 2*time.Second, "end of the grandchild", func() bool { return gone(pid) })
			eventually(t, 2*time.Second, "reaping of the child", func() bool { return reaped(r.PID) })
		})
	}
}

// A descendant that left the group and holds standard output cannot make a dead
// process look alive.
func TestEscapedGrandchild(t *testing.T) {
	p := newPool(t, "serve", nil)
	r := p.ask(t, `1`, "escape", "", 0)
	pid, _ := strconv.Atoi(r.Tag)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	_, err := p.Exchange(t.Context(), message(`1`, "die", "", 0))
	wantFault(t, err, protocol.ProtocolRejection, protocol.FaultProcess)
}

// T20: an observer that reads to the end of input returns, is awaited and gone.
func TestT20PerEventObserver(t *testing.T) {
	p := newPool(t, "observer", func(o *Options) { o.PerEvent = true })
	for _, size := range []int{0, 1 << 20} {
		msg := message(`1`, "", strings.Repeat("x", size), 0)
		if err := p.Notify(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		p.expect(t, fmt.Sprintf("read %d", len(msg)+1))
	}
	if got := p.Stats(); len(got.PIDs) != 0 || got.Starts != 2 || got.Restarts != 0 {
		t.Fatalf("got %+v", got)
	}
}

// R91: per_event answers come from a process of their own, which is then ended.
func TestR91PerEventExchange(t *testing.T) {
	p := newPool(t, "serve", func(o *Options) { o.PerEvent = true })
	a, b := p.ask(t, `1`, "echo", "a", 0), p.ask(t, `1`, "grandchild", "", 0)
	if a.PID == b.PID || !reaped(a.PID) || !reaped(b.PID) {
		t.Fatalf("got %+v, %+v", a, b)
	}
	pid, _ := strconv.Atoi(b.Tag)
	eventually(t, 2*time.Second, "end of the grandchild", func() bool { return gone(pid) })
}

// T20: an observer that never ends is ended with the caller's time.
func TestT20PerEventObserverHangs(t *testing.T) {
	p := newPool(t, "serve", func(o *Options) { o.PerEvent = true })
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- p.Notify(ctx, message(`1`, "hang", "o", 0)) }()
	p.expect(t, "hang o")
	pid := p.Stats().PIDs[0]
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if !reaped(pid) {
		t.Fatal("process was left")
	}
}

// T24, T23: giving up in the queue disturbs nobody and is no failure of the
// backend.
func TestT24GiveUpQueued(t *testing.T) {
	p := newPool(t, "serve", nil)
	busy, end := context.WithCancel(t.Context())
	running := p.start(busy, `1`, "hang", "x")
	p.expect(t, "hang x")
	ctx, cancel := context.WithCancel(t.Context())
	queued := p.start(ctx, `2`, "echo", "y")
	eventually(t, 5*time.Second, "queueing", func() bool {
		p.queue.mu.Lock()
		defer p.queue.mu.Unlock()
		return p.queue.waiting.Len() == 1
	})
	cancel()
	if err := <-queued; !errors.Is(err, transport.ErrQueued) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	select {
	case err := <-running:
		t.Fatalf("the running exchange ended: %v", err)
	default:
	}
	if got := p.Stats(); len(got.PIDs) != 1 || got.Starts != 1 {
		t.Fatalf("got %+v", got)
	}
	end()
	if err := <-running; !errors.Is(err, context.Canceled) || errors.Is(err, transport.ErrQueued) {
		t.Fatalf("got %v", err)
	}
	if got := p.ask(t, `1`, "echo", "z", 0); got.Tag != "z" {
		t.Fatalf("got %+v", got)
	}
}

// T21, T18: Close ends running and waiting calls as closed, whoever calls it,
// and leaves no process.
func TestT21CloseDuringExchange(t *testing.T) {
	p := newPool(t, "serve", func(o *Options) { o.Processes = 2 })
	idle := p.ask(t, `1`, "echo", "", 0)
	var calls []<-chan error
	for range 2 {
		calls = append(calls, p.start(t.Context(), `1`, "hang", "x"))
		p.expect(t, "hang x")
	}
	calls = append(calls, p.start(t.Context(), `1`, "echo", "queued"))
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { _ = p.Close() })
	}
	closers.Wait()
	for i, call := range calls {
		if err := <-call; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("call %d: got %v", i, err)
		}
	}
	if !reaped(idle.PID) || len(p.Stats().PIDs) != 0 {
		t.Error("a process was left")
	}
	if _, err := p.Exchange(t.Context(), message(`1`, "echo", "", 0)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if err := p.Notify(t.Context(), message(`1`, "echo", "", 0)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// Close asks before it kills.
func TestCloseSteps(t *testing.T) {
	t.Run("end of input is enough", func(t *testing.T) {
		p := newPool(t, "polite", nil)
		p.ask(t, `1`, "echo", "", 0)
		_ = p.Close()
		p.expect(t, "end of input")
	})
	t.Run("SIGKILL in the end", func(t *testing.T) {
		p := newPool(t, "stubborn", func(o *Options) { o.StopGrace = 300 * time.Millisecond })
		r := p.ask(t, `1`, "echo", "", 0)
		_ = p.Close()
		p.expect(t, "end of input")
		if !reaped(r.PID) {
			t.Fatal("process was left")
		}
	})
}
