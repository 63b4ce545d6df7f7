package stdio

import (
	"context"
	"strings"
	"testing"
)

func BenchmarkExchange(b *testing.B) {
	p := newPool(b, "fixed", nil)
	pad := strings.Repeat("x", 1200)
	msg := message(`"01JD7Q6Z1W8Y2V3T4S5R6P7N8M"`, "echo", "", 0)
	msg = append(msg[:len(msg)-2], []byte(`,"pad":"`+pad+`"}}`)...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := p.Exchange(ctx, msg); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Exchange(ctx, msg); err != nil {
			b.Fatal(err)
		}
	}
}
