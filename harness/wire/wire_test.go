package wire

import (
	"os"
	"strings"
	"testing"
)

func TestParseStrict(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"object", `{"a":[1,2,{"b":null}],"c":"x"}`, true},
		{"surrounding space", " \n{}\t", true},
		{"duplicate", `{"a":1,"a":2}`, false},
		{"duplicate spelt apart", `{"a":1,"\u0061":2}`, false},
		{"trailing", `{} x`, false},
		{"bom", "\ufeff{}", false},
		{"lone surrogate", `"\ud800"`, true},
		{"bad utf8", "\"\xff\"", false},
		{"control", "\"\x01\"", false},
		{"huge exponent", `1e400`, false},
		{"huge negative exponent", `1e-99999999`, false},
		{"tiny", `1e-400`, true},
		{"4300 digits", strings.Repeat("9", 4300), true},
		{"4301 digits", strings.Repeat("9", 4301), false},
		{"leading zero", `01`, false},
		{"nan", `NaN`, false},
		{"deepest", deep(256), true},
		{"too deep", deep(257), false},
		{"empty", ``, false},
		{"comma", `[1,]`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if (err == nil) != tt.ok {
				t.Errorf("Parse(%.40q) = %v, want ok %v", tt.text, err, tt.ok)
			}
		})
	}
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1e2`, `100`, true}, {`-0.0`, `0`, true}, {`true`, `1`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true},
		{`{"a":null}`, `{}`, false}, {`[1,2]`, `[2,1]`, false},
		{`"\u0061"`, `"a"`, true}, {`1.10`, `1.1`, true}, {`-1`, `1`, false},
	} {
		if got := Equal(MustParse(tt.a).Root(), MustParse(tt.b).Root()); got != tt.want {
			t.Errorf("Equal(%s, %s) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestRebuildKeepsTextAndIndex(t *testing.T) {
	src := MustParse(`{"x":{"a":1.10,"b":[1e2,{"\u0063":-0.0}]},"id":"old","z":"\n"}`)
	got := Rebuild(src.Root(), []Member{{"id", Quote("new").Root()}, {"h", MustParse(`{"n":[1]}`).Root()}}, "id")
	want := `{"id":"new","h":{"n":[1]},"x":{"a":1.10,"b":[1e2,{"\u0063":-0.0}]},"z":"\n"}`
	if string(got.Raw()) != want {
		t.Fatalf("got  %s\nwant %s", got.Raw(), want)
	}
	again := MustParse(want)
	if len(again.nodes) != len(got.nodes) {
		t.Fatalf("%d nodes, want %d", len(got.nodes), len(again.nodes))
	}
	for i := range again.nodes {
		if got.nodes[i] != again.nodes[i] {
			t.Errorf("node %d = %+v, want %+v", i, got.nodes[i], again.nodes[i])
		}
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]int64{`1`: 1, `1.0`: 1, `1e2`: 100, `-3.00`: -3, `0.0`: 0, `120e-1`: 12} {
		if n, ok := MustParse(text).Root().Int(); !ok || n != want {
			t.Errorf("Int(%s) = %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{`1.5`, `true`, `"1"`, `1e30`, `99999999999999999999`} {
		if n, ok := MustParse(text).Root().Int(); ok {
			t.Errorf("Int(%s) = %d, want none", text, n)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	raw, err := os.ReadFile("testdata/event.json")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}
