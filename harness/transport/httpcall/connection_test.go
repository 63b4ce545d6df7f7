package httpcall

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

var quiet = log.New(io.Discard, "", 0)

// Sixteen callers need sixteen connections, however many calls they make.
func TestC7ConnectionsAreKept(t *testing.T) {
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := newClient(t, s.URL, nil)
	const calls, callers = 10_000, 16
	var left atomic.Int64
	left.Store(calls)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := c.Exchange(t.Context(), request); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := opened.Load(); got > callers {
		t.Fatalf("%d connections for %d callers", got, callers)
	}
	_ = c.Close()
}

// T3: a connection the server closed while it was idle is replaced, and no
// message fails or arrives twice for it.
func TestT3StaleConnection(t *testing.T) {
	var posts atomic.Int64
	closed := make(chan struct{}, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		posts.Add(1)
	}))
	s.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateIdle:
			_ = conn.Close()
		case http.StateClosed:
			closed <- struct{}{}
		default:
		}
	}
	s.Start()
	defer s.Close()
	c := newClient(t, s.URL, nil)
	const calls = 300
	for i := range calls {
		if _, err := c.Exchange(t.Context(), request); err != nil {
			t.Fatalf("call %d: %v (%v)", i, err, errors.Unwrap(err))
		}
		<-closed
	}
	if got := posts.Load(); got != calls {
		t.Fatalf("%d deliveries of %d messages", got, calls)
	}
}

// raw answers each connection's requests with what reply says; an empty string
// cuts the connection once the request was read.
func raw(t *testing.T, reply func(n int64) string) (addr string, count *atomic.Int64) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count = &atomic.Int64{}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					text := reply(count.Add(1))
					_, _ = io.WriteString(conn, text)
					if text != answer {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); group.Wait() })
	return l.Addr().String(), count
}

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

// T3, R73: what may have been received is not sent again, though a header
// invites net/http to; nor is a cut answer an answer.
func TestT3NeverTwice(t *testing.T) {
	for _, tt := range []struct{ name, reply, header string }{
		{"cut before the answer", "", ""},
		{"cut, idempotency key", "", "Idempotency-Key"},
		{"cut, other idempotency key", "", "X-Idempotency-Key"},
		{"cut in the header", "HTTP/1.1 200 OK\r\nConte", ""},
		{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", ""},
		{"cut in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", ""},
		{"not HTTP", "hello\r\n\r\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr, count := raw(t, func(n int64) string {
				if n == 1 {
					return answer
				}
				return tt.reply
			})
			c := newClient(t, "http://"+addr, func(o *Options) {
				if tt.header != "" {
					o.Headers = func(context.Context) (http.Header, error) {
						return http.Header{tt.header: {"k"}}, nil
					}
				}
			})
			if _, err := c.Exchange(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			_, err := c.Exchange(t.Context(), request)
			wantFault(t, err, protocol.TransportFault, protocol.FaultConnection)
			if got := count.Load(); got != 2 {
				t.Fatalf("%d deliveries of 2 messages", got)
			}
			_ = c.Close()
		})
	}
}

func TestRefused(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	c := newClient(t, "http://"+l.Addr().String(), nil)
	_, err = c.Exchange(t.Context(), request)
	wantFault(t, err, protocol.TransportFault, protocol.FaultConnection)
	wantFault(t, c.Notify(t.Context(), request), protocol.TransportFault, protocol.FaultConnection)
}

// holding answers nobody until the client leaves; it reports each arrival.
func holding(t *testing.T) (*httptest.Server, <-chan struct{}) {
	arrived := make(chan struct{}, 16)
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
	}), arrived
}

func TestCancel(t *testing.T) {
	s, arrived := holding(t)
	c := newClient(t, s.URL, nil)
	cause := errors.New("subscription ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := c.Exchange(ctx, request)
		result <- err
	}()
	<-arrived
	cancel(cause)
	if err := <-result; !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
	if err := c.Notify(ctx, request); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	_ = c.Close()
}

// T21: Close ends running calls as closed and refuses others.
func TestT21CloseDuringExchange(t *testing.T) {
	s, arrived := holding(t)
	c := newClient(t, s.URL, nil)
	results := make(chan error, 2)
	go func() {
		_, err := c.Exchange(t.Context(), request)
		results <- err
	}()
	go func() { results <- c.Notify(t.Context(), request) }()
	<-arrived
	<-arrived
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { _ = c.Close() })
	}
	closers.Wait()
	for range 2 {
		if err := <-results; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := c.Exchange(t.Context(), request); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// The message is the caller's again when the call returns, even one cut short
// by an early answer or a cancellation. The race detector watches.
func TestMessageIsFreeAfterwards(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	c := newClient(t, s.URL, nil)
	message := bytes.Repeat([]byte("x"), 8<<20)
	for range 10 {
		_, _ = c.Exchange(t.Context(), message) // an answer or a reset, as it falls
		clear(message)
	}
	_ = c.Close()
}

// A caller's own transport is used as it is, gets no means to repeat a request,
// and stays open.
func TestOwnRoundTripper(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	own := &http.Transport{}
	defer own.CloseIdleConnections()
	var calls atomic.Int64
	c := newClient(t, s.URL, func(o *Options) {
		o.RoundTripper = roundTripper(func(r *http.Request) (*http.Response, error) {
			calls.Add(1)
			if r.GetBody != nil {
				t.Error("request can be repeated")
			}
			return own.RoundTrip(r)
		})
	})
	if r, err := c.Exchange(t.Context(), request); err != nil || string(r.Body) != "{}" || calls.Load() != 1 {
		t.Fatalf("got %q, %v after %d calls", r.Body, err, calls.Load())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
