// Package wire reads JSON strictly and keeps it as it came: a document is its
// own bytes plus an index into them, so nothing is decoded that nobody asks
// for, numbers stay digit for digit, and unknown members survive.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the kind of a JSON value. The zero value means "absent".
type Kind uint8

// The kinds of JSON values.
const (
	Absent Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// Limits of what Parse accepts, whatever the document (schema-notes section 3).
const (
	// MaxDepth is how deep arrays and objects may nest.
	MaxDepth = 256
	// MaxDigits is how many digits a number may have, exponent apart.
	MaxDigits = 4300
	// maxExponent bounds a number's exponent either way, so that no later
	// reader spends time on an astronomically long number.
	maxExponent = 4300
)

// node is one value or member name. Values stand in document order; an
// object's children are name, value, name, value.
type node struct {
	start, end uint32 // the value's bytes in raw, quotes and brackets included
	next       uint32 // index of the first node after this subtree
	count      uint32 // members or elements
	kind       Kind
	escaped    bool // a string that holds a backslash
}

// Doc is a parsed JSON document. It is immutable; the bytes given to Parse
// must not change while it is in use.
type Doc struct {
	raw   []byte
	nodes []node
}

// SyntaxError says why bytes are not the JSON that we accept.
type SyntaxError struct {
	Offset  int64
	Message string
}

func (e *SyntaxError) Error() string {
	return "byte " + strconv.FormatInt(e.Offset, 10) + ": " + e.Message
}

// A decoder is kept between documents for its buffers only.
type decoder struct {
	dec *jsontext.Decoder
	buf bytes.Buffer
}

var decoders = sync.Pool{New: func() any {
	d := &decoder{}
	d.dec = jsontext.NewDecoder(&d.buf)
	return d
}}

// Parse reads one JSON text: UTF-8 without a byte order mark, no repeated
// member names, nesting and numbers within the limits above, nothing after the
// value but white space (E3, E6, E7). A lone surrogate escape is accepted.
func Parse(raw []byte) (*Doc, error) {
	if len(raw) > math.MaxInt32 {
		return nil, &SyntaxError{Message: "document is too large"}
	}
	if !utf8.Valid(raw) {
		return nil, &SyntaxError{Message: "text is not UTF-8"}
	}
	d := decoders.Get().(*decoder)
	// The buffer aliases raw, which the decoder reads and never writes.
	d.buf = *bytes.NewBuffer(raw[:len(raw):len(raw)])
	d.dec.Reset(&d.buf, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(false))
	doc := &Doc{raw: raw, nodes: make([]node, 0, 16+len(raw)/16)}
	err := doc.index(d.dec)
	d.buf = bytes.Buffer{}
	decoders.Put(d)
	if err != nil {
		return nil, err
	}
	return doc, nil
}

func (doc *Doc) index(dec *jsontext.Decoder) error {
	var open [MaxDepth + 1]uint32
	depth := 0
	for {
		before := dec.InputOffset()
		tok, err := dec.ReadToken()
		if err != nil {
			return syntaxError(err, dec.InputOffset())
		}
		end := uint32(dec.InputOffset())
		at := uint32(len(doc.nodes))
		kind := tok.Kind()
		if kind == '}' || kind == ']' {
			depth--
			n := &doc.nodes[open[depth]]
			n.end, n.next = end, at
			if kind == '}' {
				n.count /= 2
			}
			if depth == 0 {
				break
			}
			continue
		}
		if depth > 0 {
			doc.nodes[open[depth-1]].count++
		}
		n := node{start: doc.skip(uint32(before)), end: end, next: at + 1, kind: kindOf(kind)}
		text := doc.raw[n.start:end]
		switch kind {
		case '{', '[':
			if depth == MaxDepth {
				return &SyntaxError{int64(n.start), fmt.Sprintf("nesting is deeper than %d", MaxDepth)}
			}
			open[depth] = at
			depth++
		case '"':
			n.escaped = bytes.IndexByte(text, '\\') >= 0
		case '0':
			if msg := checkNumber(text); msg != "" {
				return &SyntaxError{int64(n.start), msg}
			}
		}
		doc.nodes = append(doc.nodes, n)
		if depth == 0 {
			break
		}
	}
	for _, c := range doc.raw[dec.InputOffset():] {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return &SyntaxError{dec.InputOffset(), "something follows the JSON value"}
		}
	}
	return nil
}

// skip passes over what may stand before a token.
func (doc *Doc) skip(i uint32) uint32 {
	for int(i) < len(doc.raw) {
		switch doc.raw[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
		default:
			return i
		}
	}
	return i
}

func kindOf(k jsontext.Kind) Kind {
	switch k {
	case 'n':
		return Null
	case 'f':
		return False
	case 't':
		return True
	case '0':
		return Number
	case '"':
		return String
	case '[':
		return Array
	default:
		return Object
	}
}

// checkNumber refuses numbers that some reader downstream could not hold or
// would take unreasonable time for. It returns what is wrong, or "".
func checkNumber(text []byte) string {
	if len(text) <= 15 && bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0 {
		return ""
	}
	mantissa, exponent, fraction := text, []byte(nil), false
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	digits := 0
	for _, c := range mantissa {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			fraction = true
		}
	}
	if digits > MaxDigits {
		return fmt.Sprintf("number has more than %d digits", MaxDigits)
	}
	if exponent == nil && !fraction {
		return ""
	}
	if exponent != nil {
		e, err := strconv.Atoi(string(exponent))
		if err != nil || e > maxExponent || e < -maxExponent {
			return "number's exponent is out of range"
		}
	}
	// A number with a fraction or exponent must be finite as a double.
	if _, err := strconv.ParseFloat(string(text), 64); err != nil {
		return "number is out of range"
	}
	return ""
}

// syntaxError turns the reader's error into one that names the place but shows
// nothing of the text.
func syntaxError(err error, offset int64) error {
	msg := "text is not JSON"
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = se.ByteOffset
		if errors.Is(se.Err, jsontext.ErrDuplicateName) {
			msg = "a member name occurs twice in one object"
		}
	}
	return &SyntaxError{offset, msg}
}
