package httpcall

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

// drainLimit bounds what is read only to keep a connection. Beyond it a new
// one is cheaper.
const drainLimit = 64 << 10

// copyLimit is the size up to which copying a message is cheaper than a write
// of its own.
const copyLimit = 32 << 10

var (
	errDetached = errors.New("call is over")
	errTooLong  = errors.New("answer over the limit")
)

// outgoing is the body of one call. net/http may read it after RoundTrip has
// returned, when the caller already uses the bytes for something else. A small
// message is therefore copied, which lets net/http put it into one write with
// the header; from a large one the reader is cut off by detach.
type outgoing struct {
	mu      sync.Mutex
	message []byte
	copied  bool
}

func newOutgoing(message []byte) *outgoing {
	if len(message) > copyLimit {
		return &outgoing{message: message}
	}
	return &outgoing{message: bytes.Clone(message), copied: true}
}

func (o *outgoing) detach() {
	if o.copied {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.message = nil
}

// reader starts at the beginning; it is req.GetBody.
func (o *outgoing) reader() (io.ReadCloser, error) {
	switch {
	case o.copied && len(o.message) == 0:
		return http.NoBody, nil
	case o.copied:
		return io.NopCloser(bytes.NewReader(o.message)), nil
	default:
		return &bodyReader{from: o}, nil
	}
}

type bodyReader struct {
	from *outgoing
	off  int
}

func (b *bodyReader) Read(p []byte) (int, error) {
	b.from.mu.Lock()
	defer b.from.mu.Unlock()
	if b.from.message == nil {
		return 0, errDetached
	}
	if b.off >= len(b.from.message) {
		return 0, io.EOF
	}
	n := copy(p, b.from.message[b.off:])
	b.off += n
	return n, nil
}

func (*bodyReader) Close() error { return nil }

// readAll reads an answer up to limit; more fails without being buffered (T7).
func readAll(r *http.Response, limit int64) ([]byte, error) {
	size := r.ContentLength
	if size > limit {
		return nil, errTooLong
	}
	if size == 0 || r.StatusCode == http.StatusSwitchingProtocols {
		return []byte{}, nil
	}
	if size < 0 {
		size = 511
	}
	// The announced size saves copies, but is only a claim: memory follows what
	// arrives. One byte more than needed makes room to see the end.
	buf := make([]byte, 0, min(size, drainLimit)+1)
	for {
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errTooLong
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return nil, err
		}
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(2*int64(cap(buf)), limit+1))
			copy(grown, buf)
			buf = grown
		}
	}
}

// acknowledged judges the answer to a notification: a 2xx without a body, by
// any of the statuses (R56). A body is no acknowledgement and is not parsed (T6).
func acknowledged(r *http.Response) error {
	var b [512]byte
	var total int
	var err error
	for err == nil && total == 0 && r.StatusCode != http.StatusSwitchingProtocols {
		total, err = r.Body.Read(b[:])
	}
	// Enough is known. The rest is worth reading only to keep the connection.
	if err == nil && r.ContentLength > 0 && r.ContentLength <= drainLimit {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	switch {
	case r.StatusCode >= 300 && r.StatusCode < 400:
		return transport.Fault(protocol.TransportFault, protocol.FaultRedirect, nil)
	case r.StatusCode < 200 || r.StatusCode > 299:
		return transport.Fault(protocol.TransportFault, protocol.FaultStatus, nil)
	case total > 0:
		return transport.Fault(protocol.ProtocolRejection, protocol.FaultSchema, nil)
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
