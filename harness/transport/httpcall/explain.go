package httpcall

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

// explain turns the end of a call into a coded error. What the caller or the
// gateway ended is no fault of the backend (T21).
func explain(parent, call context.Context, err error) error {
	closed := errors.Is(context.Cause(call), transport.ErrClosed)
	switch {
	case closed && parent.Err() != nil:
		return fmt.Errorf("%w: %w", transport.ErrClosed, endError(parent))
	case closed:
		return transport.ErrClosed
	case parent.Err() != nil:
		return endError(parent)
	}
	if fault, ok := errors.AsType[*transport.Error](err); ok {
		return fault
	}
	switch {
	case errors.Is(err, errTooLong):
		return transport.Fault(protocol.ProtocolRejection, protocol.FaultRecordTooLong, err)
	case isTLS(err):
		return transport.Fault(protocol.TransportFault, protocol.FaultTLS, err)
	default:
		return transport.Fault(protocol.TransportFault, protocol.FaultConnection, err)
	}
}

// isTLS tells failures of TLS from failures of the connection below it.
func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return true
	}
	// Alerts have no exported type; net.OpError names their direction.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return true
	}
	// The rest of crypto/tls, and net/http on a cleartext answer, give plain
	// errors; their texts are all there is.
	text := err.Error()
	return strings.Contains(text, "tls: ") || strings.Contains(text, "HTTP response to HTTPS client")
}
