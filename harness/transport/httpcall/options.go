// Package httpcall delivers messages to an HTTP backend: one POST each, never
// repeated, never redirected, with nothing on it that was not put there for it.
package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
)

const (
	defaultMaxReply = 4 << 20
	defaultMaxIdle  = 1024
)

// Options describe one HTTP backend.
type Options struct {
	// URL is posted to exactly, query included.
	URL string
	// Headers, if set, returns headers for one delivery. They win over the ones
	// this package sets. An error means that nothing is sent; a *transport.Error
	// is passed on as it is, another counts as a credential's failure.
	Headers func(ctx context.Context) (http.Header, error)
	// MaxReply bounds the bytes of an answer. Default 4 MiB.
	MaxReply int64
	// MaxIdle bounds the connections kept open between calls. Fewer than calls
	// in flight would close and open connections under load. Default 1024.
	MaxIdle int
	// TLS configures the built-in transport; nil verifies certificates against
	// the platform's store.
	TLS *tls.Config
	// RoundTripper replaces the built-in transport. It is used as it is, stays
	// the caller's and is not closed. Its requests carry no GetBody, so that a
	// *http.Transport does not repeat a delivery on its own.
	RoundTripper http.RoundTripper
}

func (o *Options) setDefaults() {
	if o.MaxReply <= 0 {
		o.MaxReply = defaultMaxReply
	}
	if o.MaxIdle <= 0 {
		o.MaxIdle = defaultMaxIdle
	}
}

// target checks the URL. The errors do not repeat it: it may hold a secret.
func target(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("backend URL cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("backend URL is neither http nor https")
	case u.Host == "":
		return nil, errors.New("backend URL has no host")
	case u.User != nil:
		return nil, errors.New("backend URL holds a user name; use a credential")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
