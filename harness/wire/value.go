package wire

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one value inside a document. The zero Value is absent: every method
// works on it and says so.
type Value struct {
	doc *Doc
	at  uint32
}

// Root is the document's value.
func (d *Doc) Root() Value { return Value{d, 0} }

// Raw is the whole document's text.
func (d *Doc) Raw() []byte { return d.Root().Raw() }

// Exists reports whether the value is there at all; null is there.
func (v Value) Exists() bool { return v.doc != nil }

// Kind is the value's kind, Absent for the zero Value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Absent
	}
	return v.doc.nodes[v.at].kind
}

// IsObject and its siblings test the kind.
func (v Value) IsObject() bool { return v.Kind() == Object }

// IsArray reports whether the value is an array.
func (v Value) IsArray() bool { return v.Kind() == Array }

// IsString reports whether the value is a string.
func (v Value) IsString() bool { return v.Kind() == String }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.Kind() == Null }

// Raw is the value's text as it stands in the document; nil when absent.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := &v.doc.nodes[v.at]
	return v.doc.raw[n.start:n.end:n.end]
}

// Span is where Raw stands in the document's text.
func (v Value) Span() (start, end int) {
	n := &v.doc.nodes[v.at]
	return int(n.start), int(n.end)
}

// Len is the number of members or elements, 0 for scalars.
func (v Value) Len() int {
	if v.doc == nil {
		return 0
	}
	return int(v.doc.nodes[v.at].count)
}

// Get is the member of that name, absent if v is no object or lacks it.
func (v Value) Get(name string) Value {
	for it := v.Iter(); it.Next(); {
		if it.KeyIs(name) {
			return it.Value()
		}
	}
	return Value{}
}

// At walks member names from v.
func (v Value) At(path ...string) Value {
	for _, name := range path {
		v = v.Get(name)
	}
	return v
}

// Index is element i of an array, absent if there is none.
func (v Value) Index(i int) Value {
	if v.Kind() != Array {
		return Value{}
	}
	for it := v.Iter(); it.Next(); i-- {
		if i == 0 {
			return it.Value()
		}
	}
	return Value{}
}

// Iter walks the members of an object or the elements of an array:
//
//	for it := v.Iter(); it.Next(); { use(it.Key(), it.Value()) }
type Iter struct {
	doc      *Doc
	at, end  uint32
	key, val uint32
	object   bool
}

// Iter starts a walk; over a scalar or an absent value it is empty.
func (v Value) Iter() Iter {
	if v.doc == nil {
		return Iter{}
	}
	n := &v.doc.nodes[v.at]
	if n.kind != Object && n.kind != Array {
		return Iter{}
	}
	return Iter{doc: v.doc, at: v.at + 1, end: n.next, object: n.kind == Object}
}

// Next moves to the next member or element.
func (it *Iter) Next() bool {
	if it.at >= it.end {
		return false
	}
	it.key, it.val = it.at, it.at
	if it.object {
		it.val++
	}
	it.at = it.doc.nodes[it.val].next
	return true
}

// Value is the current member's or element's value.
func (it *Iter) Value() Value { return Value{it.doc, it.val} }

// Key is the current member's name as a string value.
func (it *Iter) Key() Value { return Value{it.doc, it.key} }

// KeyIs compares the current member's name without allocating.
func (it *Iter) KeyIs(name string) bool { return Value{it.doc, it.key}.Is(name) }

// Bytes is a string's text, decoded; without an escape it aliases the document.
func (v Value) Bytes() []byte {
	if v.Kind() != String {
		return nil
	}
	n := &v.doc.nodes[v.at]
	if !n.escaped {
		return v.doc.raw[n.start+1 : n.end-1 : n.end-1]
	}
	out, _ := jsontext.AppendUnquote(nil, v.doc.raw[n.start:n.end])
	return out
}

// String is a string's text, decoded, or "" for other kinds.
func (v Value) String() string { return string(v.Bytes()) }

// Is reports whether v is the string s.
func (v Value) Is(s string) bool { return v.Kind() == String && string(v.Bytes()) == s }

// Bool reports the value of true and false, and whether v is either.
func (v Value) Bool() (value, ok bool) {
	k := v.Kind()
	return k == True, k == True || k == False
}

// Int is an integral number's value. 1.0 and 1e2 count as integers (G17); ok is
// false for other numbers, other kinds and what does not fit.
func (v Value) Int() (n int64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	text := v.Raw()
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true
	}
	d := parseDecimal(text)
	if d.exp < 0 || d.exp > 19 {
		return 0, len(d.digits) == 0
	}
	buf := append(make([]byte, 0, 40), d.digits...)
	for range d.exp {
		buf = append(buf, '0')
	}
	if len(d.digits) == 0 {
		return 0, true
	}
	if d.negative {
		buf = append([]byte{'-'}, buf...)
	}
	n, err := strconv.ParseInt(string(buf), 10, 64)
	return n, err == nil
}

// Any decodes the value for a schema evaluation: maps, slices, json.Number.
func (v Value) Any() any {
	switch v.Kind() {
	case False:
		return false
	case True:
		return true
	case Number:
		return json.Number(v.Raw())
	case String:
		return v.String()
	case Array:
		out := make([]any, 0, v.Len())
		for it := v.Iter(); it.Next(); {
			out = append(out, it.Value().Any())
		}
		return out
	case Object:
		out := make(map[string]any, v.Len())
		for it := v.Iter(); it.Next(); {
			out[it.Key().String()] = it.Value().Any()
		}
		return out
	default:
		return nil
	}
}
