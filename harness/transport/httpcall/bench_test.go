package httpcall

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
)

func BenchmarkExchange(b *testing.B) {
	reply := []byte(`{"jsonrpc":"2.0","id":"e1","result":{"protocolVersion":"draft","effects":[]}}`)
	s := serve(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(reply)
	})
	c := newClient(b, s.URL, nil)
	message := append(bytes.Clone(request), bytes.Repeat([]byte(" "), 1200)...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := func(b *testing.B) {
		if _, err := c.Exchange(ctx, message); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call(b)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call(b)
			}
		})
	})
}

var _ http.RoundTripper = (*lane)(nil)
