package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var request = []byte(`{"jsonrpc":"2.0","id":"e1","method":"hooks/intercept","params":{}}`)

func newClient(t testing.TB, url string, change func(*Options)) *Client {
	t.Helper()
	o := Options{URL: url}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func wantFault(t testing.TB, err error, code protocol.Code, kind protocol.FaultKind) {
	t.Helper()
	fault, ok := errors.AsType[*transport.Error](err)
	if !ok {
		t.Fatalf("got error %v, want a fault %s/%s", err, code, kind)
	}
	if fault.Code != code || fault.Kind != kind || fault.Stage != protocol.StageDelivery {
		t.Fatalf("got %s/%s (%v), want %s/%s", fault.Code, fault.Kind, fault.Err, code, kind)
	}
}

// T1, T2, T3: any status is handed back with its body, and no redirect is
// followed: each delivery is one request.
func TestT2EveryStatusIsAnAnswer(t *testing.T) {
	var elsewhere, posts atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, status := range []int{200, 201, 202, 204, 301, 302, 303, 307, 308, 400, 401, 403, 404, 429, 500, 503} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			posts.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", other.URL)
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Set-Cookie", "a=b")
			w.WriteHeader(status)
			if status != 204 {
				_, _ = io.WriteString(w, "body")
			}
		})
		c := newClient(t, s.URL, nil)
		r, err := c.Exchange(t.Context(), request)
		want := "body"
		if status == 204 {
			want = ""
		}
		if err != nil || r.Status != status || string(r.Body) != want {
			t.Errorf("status %d: got %d %q, %v", status, r.Status, r.Body, err)
		}
	}
	if posts.Load() != 16 || elsewhere.Load() != 0 {
		t.Fatalf("%d posts, %d to a redirect's target", posts.Load(), elsewhere.Load())
	}
}

// T5: a request has these headers and no others.
func TestT5ExactRequest(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	got := make(chan string, 2)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		buf := make([]byte, 4096)
		for range 2 {
			n, _ := conn.Read(buf)
			got <- string(buf[:n])
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\n{}")
		}
	}()
	c := newClient(t, "http://"+l.Addr().String()+"/hook/%2F?a=b&c", nil)
	want := "POST /hook/%2F?a=b&c HTTP/1.1\r\nHost: " + l.Addr().String() +
		fmt.Sprintf("\r\nContent-Length: %d\r\nAccept: application/json\r\nContent-Type: application/json\r\n\r\n", len(request)) + string(request)
	for range 2 {
		if _, err := c.Exchange(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if g := <-got; g != want {
			t.Fatalf("got\n%s\nwant\n%s", g, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Header.Get("Authorization"), r.Header.Get("Accept"))
	})
	var fail error
	c := newClient(t, s.URL, func(o *Options) {
		o.Headers = func(context.Context) (http.Header, error) {
			return http.Header{"authorization": {"Bearer x"}, "Accept": {"*/*"}}, fail
		}
	})
	if r, err := c.Exchange(t.Context(), request); err != nil || string(r.Body) != "Bearer x*/*" {
		t.Fatalf("got %q, %v", r.Body, err)
	}
	fail = errors.New("no token")
	_, err := c.Exchange(t.Context(), request)
	fault, ok := errors.AsType[*transport.Error](err)
	if !ok || fault.Stage != protocol.StageAuthentication || fault.Kind != protocol.FaultCredential || fault.Code != protocol.TransportFault {
		t.Fatalf("got %v", err)
	}
	fail = transport.Fault(protocol.ProtocolRejection, protocol.FaultHeader, nil)
	_, err = c.Exchange(t.Context(), request)
	wantFault(t, err, protocol.ProtocolRejection, protocol.FaultHeader)
}

// T6, R56: only a 2xx without a body acknowledges a notification.
func TestT6Notify(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		code   protocol.Code
		kind   protocol.FaultKind
	}{
		{200, "", "", ""},
		{202, "", "", ""},
		{204, "", "", ""},
		{200, "{}", protocol.ProtocolRejection, protocol.FaultSchema},
		{202, strings.Repeat("x", 1<<20), protocol.ProtocolRejection, protocol.FaultSchema},
		{302, "", protocol.TransportFault, protocol.FaultRedirect},
		{401, "no", protocol.TransportFault, protocol.FaultStatus},
		{503, "", protocol.TransportFault, protocol.FaultStatus},
	} {
		t.Run(fmt.Sprint(tt.status, len(tt.body)), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			err := newClient(t, s.URL, nil).Notify(t.Context(), request)
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantFault(t, err, tt.code, tt.kind)
		})
	}
}

// T7: an answer of exactly the limit passes, one byte more fails, announced or
// not.
func TestT7ReplyLimit(t *testing.T) {
	const limit = 100_000
	for _, announced := range []bool{true, false} {
		for _, size := range []int{0, 1, 511, 512, limit - 1, limit, limit + 1, 3 * limit} {
			t.Run(fmt.Sprint(announced, size), func(t *testing.T) {
				s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					if announced {
						w.Header().Set("Content-Length", fmt.Sprint(size))
					} else {
						w.(http.Flusher).Flush()
					}
					_, _ = w.Write(bytes.Repeat([]byte("x"), size))
				})
				c := newClient(t, s.URL, func(o *Options) { o.MaxReply = limit })
				r, err := c.Exchange(t.Context(), request)
				if size > limit {
					wantFault(t, err, protocol.ProtocolRejection, protocol.FaultRecordTooLong)
				} else if err != nil || len(r.Body) != size {
					t.Fatalf("got %d bytes, %v", len(r.Body), err)
				}
			})
		}
	}
}

// T8: no limit but the caller's. A hidden one would need seconds to show, so
// the transport is looked at.
func TestT8NoHiddenTimeout(t *testing.T) {
	l := newLane(nil)
	if l.ResponseHeaderTimeout != 0 || l.TLSHandshakeTimeout != 0 || l.ExpectContinueTimeout != 0 || l.Proxy != nil {
		t.Fatal("the built-in transport has a limit or a proxy of its own")
	}
}

// T25: equal ids at once get their own answers.
func TestT25EqualIDsAtOnce(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	c := newClient(t, s.URL, nil)
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for j := range 50 {
				want := fmt.Sprintf(`{"id":"same","tag":"%d-%d"}`, i, j)
				r, err := c.Exchange(t.Context(), []byte(want))
				if err != nil || string(r.Body) != want {
					t.Errorf("got %q, %v, want %q", r.Body, err, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := newClient(t, s.URL, func(o *Options) { o.TLS = &tls.Config{RootCAs: roots} })
	for range 2 {
		if r, err := c.Exchange(t.Context(), request); err != nil || string(r.Body) != "HTTP/1.1" {
			t.Fatalf("got %q, %v", r.Body, err)
		}
	}
	_, err := newClient(t, s.URL, nil).Exchange(t.Context(), request)
	wantFault(t, err, protocol.TransportFault, protocol.FaultTLS)
	_, err = newClient(t, s.URL, func(o *Options) {
		o.TLS = &tls.Config{RootCAs: roots, ServerName: "other.example"}
	}).Exchange(t.Context(), request)
	wantFault(t, err, protocol.TransportFault, protocol.FaultTLS)
	clear := serve(t, func(http.ResponseWriter, *http.Request) {})
	clear.Config.ErrorLog = quiet
	_, err = newClient(t, "https"+strings.TrimPrefix(clear.URL, "http"), nil).Exchange(t.Context(), request)
	wantFault(t, err, protocol.TransportFault, protocol.FaultTLS)
}

func TestURL(t *testing.T) {
	for _, bad := range []string{"", "x", "ftp://h/", "http:///p", "https://u:p@h/", "http://h/%zz"} {
		if _, err := New(Options{URL: bad}); err == nil {
			t.Errorf("%q accepted", bad)
		} else if bad != "" && strings.Contains(err.Error(), "u:p") {
			t.Errorf("error repeats the URL: %v", err)
		}
	}
}
