package httpcall

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// idleTimeout ends connections nobody used for long, after a burst. The last
// used lane is taken first, so that under load none gets there.
const idleTimeout = 90 * time.Second

// A lane is an http.Transport that carries one call at a time and therefore
// keeps one connection. A shared transport opens more connections than there
// are calls: it starts to dial for a call that then gets another's connection.
// With lanes their number is the highest number of calls at once.
type lane struct {
	*http.Transport
	conn atomic.Pointer[peeker]
}

func newLane(config *tls.Config) *lane {
	l := &lane{}
	var protocols http.Protocols
	// Not HTTP/2: a lane has nothing to multiplex, and its client repeats
	// requests that a server has perhaps seen (T3, golang/go#42777).
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{}
	l.Transport = &http.Transport{
		// No proxy, and no timeout of its own: the caller's budget alone decides
		// (T8).
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err == nil {
				l.conn.Store(newPeeker(conn))
			}
			return conn, err
		},
		TLSClientConfig:        config,
		Protocols:              &protocols,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
	return l
}

// refresh drops a connection the server has closed since its last use. A POST
// on it would fail, and must not be sent again once a byte of it is out. What
// the transport itself finds closed before it writes, it repairs (GetBody).
func (l *lane) refresh() {
	if p := l.conn.Load(); p != nil && p.readable() {
		l.CloseIdleConnections()
		l.conn.Store(nil)
	}
}

// lanes are the idle lanes, last used on top.
type lanes struct {
	config *tls.Config
	max    int
	mu     sync.Mutex
	free   []*lane
}

func (s *lanes) take() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		l := s.free[n-1]
		s.free[n-1] = nil
		s.free = s.free[:n-1]
		return l
	}
	return newLane(s.config)
}

func (s *lanes) put(l *lane) {
	s.mu.Lock()
	keep := len(s.free) < s.max
	if keep {
		s.free = append(s.free, l)
	}
	s.mu.Unlock()
	if !keep {
		l.CloseIdleConnections()
	}
}

func (s *lanes) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.free {
		l.CloseIdleConnections()
	}
	s.free = nil
}

// A peeker looks at a connection without taking anything from it.
type peeker struct {
	raw  syscall.RawConn
	look func(fd uintptr) // made once: a closure per call is garbage
	any  bool
}

func newPeeker(conn net.Conn) *peeker {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	p := &peeker{raw: raw}
	p.look = func(fd uintptr) { p.any = pending(fd) }
	return p
}

// readable reports whether an idle connection has input: its end, or bytes that
// nobody asked for. Either way it is of no more use. Only the lane's holder
// calls it.
func (p *peeker) readable() bool {
	p.any = false
	return p.raw.Control(p.look) == nil && p.any
}
