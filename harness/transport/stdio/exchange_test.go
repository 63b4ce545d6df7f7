package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

// T15: one process serves many messages, and none runs before the first.
func TestT15OneProcessServesMany(t *testing.T) {
	p := newPool(t, "serve", nil)
	if got := p.Stats(); got.Starts != 0 || len(got.PIDs) != 0 {
		t.Fatalf("started before use: %+v", got)
	}
	first := p.ask(t, `"1"`, "echo", "a", 0)
	for i := range 100 {
		got := p.ask(t, fmt.Sprintf("%q", fmt.Sprint(i)), "echo", fmt.Sprint(i), 0)
		if got.PID != first.PID || got.Tag != fmt.Sprint(i) {
			t.Fatalf("got %+v, want tag %d of process %d", got, i, first.PID)
		}
	}
	if got := p.Stats(); got.Starts != 1 || got.Restarts != 0 || !slices.Equal(got.PIDs, []int{first.PID}) {
		t.Fatalf("got %+v", got)
	}
}

// T16, R64: noise before the answer does not disturb it, nor is its volume
// limited.
func TestT16Noise(t *testing.T) {
	p := newPool(t, "serve", nil)
	first := p.ask(t, `"n"`, "noise", "quiet", 0)
	if first.Tag != "quiet" {
		t.Fatalf("got %+v", first)
	}
	if got := p.ask(t, `"n"`, "flood", "loud", 8<<10); got.Tag != "loud" || got.PID != first.PID {
		t.Fatalf("got %+v, want process %d", got, first.PID)
	}
}

// R64: an id of another value or JSON type is somebody else's.
func TestR64Correlation(t *testing.T) {
	p := newPool(t, "serve", nil)
	for _, tt := range []struct{ name, id, wrong string }{
		{"string for integer", `1`, `"1"`},
		{"integer for string", `"1"`, `1`},
		{"bool", `1`, `true`},
		{"bool for string", `"true"`, `true`},
		{"null", `"1"`, `null`},
		{"float", `1`, `1.0`},
		{"exponent", `1`, `1e0`},
		{"object", `1`, `{"id":1}`},
		{"prefix", `"ab"`, `"a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.ask(t, tt.id, "id", tt.wrong, 0); got.Tag != "right" {
				t.Fatalf("answer %s taken for %s", tt.wrong, tt.id)
			}
		})
	}
	t.Run("same string, other escapes", func(t *testing.T) {
		if got := p.ask(t, `"ab"`, "id", `"\u0061b"`, 0); got.Tag != "wrong" {
			t.Fatal("an equal id was not recognised")
		}
	})
	t.Run("message without an id", func(t *testing.T) {
		_, err := p.Exchange(t.Context(), []byte(`{"jsonrpc":"2.0","method":"x"}`))
		wantFault(t, err, protocol.ProtocolRejection, protocol.FaultSchema)
	})
}

func TestCarriageReturn(t *testing.T) {
	p := newPool(t, "serve", nil)
	r, err := p.Exchange(t.Context(), message(`1`, "crlf", "x", 0))
	if err != nil || !json.Valid(r.Body) || bytes.HasSuffix(r.Body, []byte("\r")) {
		t.Fatalf("got %q, %v", r.Body, err)
	}
}

// An answer without its line feed is none; the wait ends with the caller's time
// and the process with it (section 3, R92).
func TestR92NoLineFeed(t *testing.T) {
	p := newPool(t, "serve", nil)
	ctx, cancel := context.WithCancel(t.Context())
	result := p.start(ctx, `1`, "partial", "x")
	p.expect(t, "partial x")
	pid := p.Stats().PIDs[0]
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || errors.Is(err, transport.ErrQueued) {
		t.Fatalf("got %v", err)
	}
	if !reaped(pid) {
		t.Fatal("process outlived its exchange")
	}
}

// T7, T22, R70: a record of exactly the limit passes, one byte more fails, and
// T17: the next message gets a new process.
func TestT22RecordLimit(t *testing.T) {
	for _, limit := range []int{512, 4096, 4 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			p := newPool(t, "serve", func(o *Options) { o.MaxRecord = limit })
			r, err := p.Exchange(t.Context(), message(`1`, "size", "", limit))
			if err != nil || len(r.Body) != limit {
				t.Fatalf("at the limit: %d bytes, %v", len(r.Body), err)
			}
			pid := p.Stats().PIDs[0]
			_, err = p.Exchange(t.Context(), message(`1`, "size", "", limit+1))
			wantFault(t, err, protocol.ProtocolRejection, protocol.FaultRecordTooLong)
			if !reaped(pid) {
				t.Fatal("process was kept")
			}
			if got := p.ask(t, `1`, "echo", "after", 0); got.PID == pid {
				t.Fatal("process was used again")
			}
			if got := p.Stats(); got.Starts != 2 || got.Restarts != 1 {
				t.Fatalf("got %+v", got)
			}
		})
	}
}

// T25, T17: whoever comes after a cancelled call gets its own answer, from a
// new process.
func TestT25RetryAfterTimeout(t *testing.T) {
	p := newPool(t, "serve", nil)
	before := p.ask(t, `"same"`, "echo", "before", 0)
	cause := errors.New("subscription ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := p.start(ctx, `"same"`, "hang", "first")
	p.expect(t, "hang first")
	cancel(cause)
	if err := <-result; !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
	if !reaped(before.PID) {
		t.Fatal("process outlived the cancelled exchange")
	}
	if got := p.ask(t, `"same"`, "echo", "second", 0); got.Tag != "second" || got.PID == before.PID {
		t.Fatalf("got %+v", got)
	}
}

// T25, T23: equal ids at once.
func TestT25EqualIDsAtOnce(t *testing.T) {
	for _, processes := range []int{1, 3} {
		p := newPool(t, "serve", func(o *Options) { o.Processes = processes })
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				for j := range 50 {
					tag := fmt.Sprintf("%d-%d", i, j)
					r, err := p.Exchange(t.Context(), message(`"same"`, "echo", tag, 0))
					if err != nil {
						t.Error(err)
						return
					}
					if got := parse(t, r.Body).Tag; got != tag {
						t.Errorf("got the answer for %s, want %s", got, tag)
					}
				}
			})
		}
		callers.Wait()
		if got := p.Stats(); got.Starts > int64(processes) {
			t.Fatalf("got %+v", got)
		}
	}
}

// T25: a second answer, whole or in part, never serves the next request.
func TestT25StaleOutput(t *testing.T) {
	p := newPool(t, "serve", nil)
	first := p.ask(t, `1`, "twice", "a", 0)
	p.expect(t, "twice")
	if got := p.ask(t, `1`, "half", "b", 0); got.Tag != "b" {
		t.Fatalf("got %+v", got)
	}
	p.expect(t, "half")
	if got := p.ask(t, `1`, "finish", "c", 0); got.Tag != "c" || got.PID != first.PID {
		t.Fatalf("got %+v", got)
	}
}

// Messages larger than a pipe go both ways at once without a deadlock.
func TestLargeMessages(t *testing.T) {
	p := newPool(t, "serve", nil)
	tag := strings.Repeat("z", 1<<20)
	first := p.ask(t, `1`, "echo", tag, 0)
	if first.Tag != tag {
		t.Fatalf("got %d bytes", len(first.Tag))
	}
	if err := p.Notify(t.Context(), message(`1`, "report", "big"+tag, 0)); err != nil {
		t.Fatal(err)
	}
	p.expect(t, "big"+tag)
	if got := p.ask(t, `1`, "echo", "after", 0); got.PID != first.PID {
		t.Fatal("process was replaced")
	}
}

// 2 MiB of standard error neither block nor fail an exchange, and little of it
// is logged.
func TestStandardError(t *testing.T) {
	var log lockedBuffer
	p := newPool(t, "serve", func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	if got := p.ask(t, `1`, "stderr", "x", 2<<20); got.Tag != "x" {
		t.Fatalf("got %+v", got)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if n := log.len(); n == 0 || n > 256<<10 {
		t.Fatalf("%d bytes logged", n)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

// T19: the child sees the allowlist and env, literally.
func TestT19Environment(t *testing.T) {
	t.Setenv("HOOKGATE_TEST_TOKEN", "secret")
	t.Setenv("LC_HOOKGATE", "kept")
	t.Setenv("TZ", "UTC")
	change := func(o *Options) {
		o.Env["LITERAL"] = "$HOME"
		o.Env["TZ"] = "Etc/GMT"
	}
	p := newPool(t, "serve", change)
	var env []string
	if err := json.Unmarshal([]byte(p.ask(t, `1`, "env", "", 0).Tag), &env); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"LITERAL=$HOME", "LC_HOOKGATE=kept", "TZ=Etc/GMT", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(env, want) {
			t.Errorf("%q is missing in %q", want, env)
		}
	}
	if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "HOOKGATE_TEST_TOKEN") }) {
		t.Error("a token was passed on")
	}
	all := newPool(t, "serve", func(o *Options) { o.InheritEnv = true })
	if got := all.ask(t, `1`, "env", "", 0).Tag; !strings.Contains(got, "HOOKGATE_TEST_TOKEN=secret") {
		t.Error("inherit_env did not inherit")
	}
}
