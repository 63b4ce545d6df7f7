// Package transport carries protocol messages to backends. It knows bytes,
// processes and connections; what a message means is the harness's business.
package transport

import (
	"context"
	"errors"
	"fmt"

	"github.com/hookgate/hookgate/harness/protocol"
)

// A Transport delivers messages to one backend. All methods are safe for
// concurrent use. When ctx ends first, the returned error wraps ctx.Err() and
// nothing of the exchange still runs when the method returns.
type Transport interface {
	// Exchange sends one request and returns the answer that belongs to it.
	// A transport that can tell answers apart (stdio) discards those whose id
	// is not the request's (T16, R64); HTTP hands back whatever came.
	Exchange(ctx context.Context, message []byte) (Reply, error)
	// Notify sends one notification and waits for its acknowledgement, where
	// the transport has one (R56).
	Notify(ctx context.Context, message []byte) error
	// Close refuses new exchanges, cancels and joins running ones, and frees
	// connections and processes. It is idempotent and safe concurrently.
	Close() error
}

// Reply is the answer to a request.
type Reply struct {
	// Body is the answer's bytes, owned by the receiver.
	Body []byte
	// Status is the HTTP status, or 0 where the transport has none.
	Status int
}

// Error is a coded transport failure. Its text never holds a backend's words,
// a URL, a header value or a credential; those stay in Err for debug logs.
type Error struct {
	Code  protocol.Code
	Stage protocol.Stage
	Kind  protocol.FaultKind
	// Err is the cause; it may name addresses and must not reach a caller.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at %s: %s", e.Code, e.Stage, e.Kind)
}

func (e *Error) Unwrap() error { return e.Err }

// Fault makes an Error at the delivery stage.
func Fault(code protocol.Code, kind protocol.FaultKind, cause error) *Error {
	return &Error{Code: code, Stage: protocol.StageDelivery, Kind: kind, Err: cause}
}

// ErrClosed is returned by a transport after Close.
var ErrClosed = errors.New("transport is closed")

// ErrQueued is wrapped by an error when a call's time ended while it still
// waited inside the gateway, before its exchange began: a limit of ours and no
// failure of the backend (api.md section 7).
var ErrQueued = errors.New("time ended while waiting for the backend to be free")
