package httpcall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

// A Client delivers messages to one HTTP backend.
type Client struct {
	opts Options
	// request is copied for each call; its header is never changed.
	request http.Request
	lanes   lanes

	mu      sync.Mutex
	closed  bool
	cancels map[*outgoing]context.CancelCauseFunc
	running sync.WaitGroup
}

var _ transport.Transport = (*Client)(nil)

// New checks the options. It connects to nothing; the first message does.
func New(o Options) (*Client, error) {
	u, err := target(o.URL)
	if err != nil {
		return nil, err
	}
	o.setDefaults()
	return &Client{
		opts: o,
		request: http.Request{
			Method: http.MethodPost, URL: u, Host: u.Host,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{
				"Content-Type": {"application/json"},
				"Accept":       {"application/json"},
				"User-Agent":   nil, // present without a value: net/http adds none
			},
		},
		lanes:   lanes{config: o.TLS, max: o.MaxIdle},
		cancels: make(map[*outgoing]context.CancelCauseFunc),
	}, nil
}

// Exchange posts a request and returns whatever came back, with any status. A
// redirect is an answer like others: it is not followed (T2).
func (c *Client) Exchange(ctx context.Context, message []byte) (transport.Reply, error) {
	var reply transport.Reply
	err := c.post(ctx, message, func(r *http.Response) error {
		body, err := readAll(r, c.opts.MaxReply)
		reply = transport.Reply{Body: body, Status: r.StatusCode}
		return err
	})
	if err != nil {
		return transport.Reply{}, err
	}
	return reply, nil
}

// Notify posts a notification and waits for its acknowledgement.
func (c *Client) Notify(ctx context.Context, message []byte) error {
	return c.post(ctx, message, acknowledged)
}

// post sends a message once and hands the answer to use. A call ends in one
// place, whatever ended it, with neither its message nor its connection in use.
func (c *Client) post(parent context.Context, message []byte, use func(*http.Response) error) error {
	if parent.Err() != nil {
		return endError(parent)
	}
	out := newOutgoing(message)
	defer out.detach()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if !c.begin(out, cancel) {
		return transport.ErrClosed
	}
	defer c.end(out)

	req, err := c.prepare(ctx, out)
	if err == nil {
		err = c.roundTrip(req, out, use)
	}
	if err == nil {
		return nil
	}
	return explain(parent, ctx, err)
}

func (c *Client) prepare(ctx context.Context, out *outgoing) (*http.Request, error) {
	req := c.request.WithContext(ctx)
	if c.opts.Headers != nil {
		extra, err := c.opts.Headers(ctx)
		if err != nil {
			if fault, ok := errors.AsType[*transport.Error](err); ok {
				return nil, fault
			}
			return nil, &transport.Error{
				Code: protocol.TransportFault, Stage: protocol.StageAuthentication,
				Kind: protocol.FaultCredential, Err: err,
			}
		}
		req.Header = maps.Clone(req.Header)
		for name, values := range extra {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	req.Body, _ = out.reader()
	req.ContentLength = int64(len(out.message))
	return req, nil
}

func (c *Client) roundTrip(req *http.Request, out *outgoing, use func(*http.Response) error) error {
	rt := c.opts.RoundTripper
	if rt != nil {
		req.Header = req.Header.Clone() // foreign code may break its contract
	} else {
		l := c.lanes.take()
		defer c.lanes.put(l)
		l.refresh()
		repairable(req, out)
		rt = l
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	err = use(resp)
	if cerr := resp.Body.Close(); err == nil && cerr != nil {
		err = cerr
	}
	return err
}

// repairable lets net/http take another connection when the one it chose turns
// out closed before any byte of the request was written. That is all GetBody
// does for a POST (net/http, shouldRetryRequest), unless one of these headers
// calls the request idempotent: then it would also repeat what may have been
// received (T3).
func repairable(req *http.Request, out *outgoing) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if _, ok := req.Header[name]; ok {
			return
		}
	}
	req.GetBody = out.reader
}

func (c *Client) begin(out *outgoing, cancel context.CancelCauseFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Add(1)
	c.cancels[out] = cancel
	return true
}

func (c *Client) end(out *outgoing) {
	c.mu.Lock()
	delete(c.cancels, out)
	c.mu.Unlock()
	c.running.Done()
}

// Close refuses new calls, cancels and joins running ones, and closes the
// built-in transport's connections.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, cancel := range c.cancels {
		cancel(transport.ErrClosed)
	}
	c.mu.Unlock()
	c.running.Wait()
	c.lanes.close()
	return nil
}

// endError says why ctx ended. It always wraps ctx.Err(), and the cause too
// where one was given, so that the caller learns which of its limits fired.
func endError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err { //nolint:errorlint // identity is meant: only a distinct cause adds anything
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
