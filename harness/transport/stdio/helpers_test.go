package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

func message(id, do, tag string, n int) []byte {
	quoted, _ := json.Marshal(tag)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"hooks/intercept","params":{"do":%q,"tag":%s,"n":%d}}`, id, do, quoted, n)
}

type bench struct {
	*Pool
	events <-chan string
}

// newPool makes a pool of fixtures; what they report arrives in events.
func newPool(t testing.TB, fixture string, change func(*Options)) bench {
	t.Helper()
	socket, events := listen(t)
	o := Options{
		Command:   os.Args[0],
		Env:       map[string]string{"HOOKGATE_FIXTURE": fixture, "HOOKGATE_EVENTS": socket, "GORACE": "atexit_sleep_ms=0"},
		StopGrace: 10 * time.Second,
	}
	if change != nil {
		env := o.Env
		change(&o)
		maps.Copy(o.Env, env)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return bench{Pool: p, events: events}
}

func listen(t testing.TB) (string, <-chan string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hg") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 256)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b, _ := io.ReadAll(conn)
			_ = conn.Close()
			events <- string(b)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		_ = os.RemoveAll(dir)
	})
	return socket, events
}

type result struct {
	Tag string `json:"tag"`
	PID int    `json:"pid"`
}

func (b bench) ask(t testing.TB, id, do, tag string, n int) result {
	t.Helper()
	r, err := b.Exchange(t.Context(), message(id, do, tag, n))
	if err != nil {
		t.Fatalf("%s: %v (%v)", do, err, errors.Unwrap(err))
	}
	return parse(t, r.Body)
}

func parse(t testing.TB, body []byte) result {
	t.Helper()
	var m struct {
		Result result `json:"result"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	return m.Result
}

// expect waits for a report.
func (b bench) expect(t testing.TB, want string) {
	t.Helper()
	select {
	case got := <-b.events:
		if got != want {
			t.Fatalf("got event %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("event %q did not come", want)
	}
}

// eventually waits for a condition that nothing announces.
func eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// gone reports whether a process has ended. An orphan may stay a zombie where
// the first process of a container reaps nobody; that one is not ours.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// reaped is gone without the exception.
func reaped(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func wantFault(t testing.TB, err error, code protocol.Code, kind protocol.FaultKind) {
	t.Helper()
	fault, ok := errors.AsType[*transport.Error](err)
	if !ok {
		t.Fatalf("got error %v, want a fault %s/%s", err, code, kind)
	}
	if fault.Code != code || fault.Kind != kind {
		t.Fatalf("got %s/%s, want %s/%s", fault.Code, fault.Kind, code, kind)
	}
}

// start runs an exchange that the test will end.
func (b bench) start(ctx context.Context, id, do, tag string) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := b.Exchange(ctx, message(id, do, tag, 0))
		result <- err
	}()
	return result
}
