package stdio

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errNoID     = errors.New("message has no string or integer id")
	errTrailing = errors.New("text after the record")
)

// ids finds top-level ids. It keeps its decoder, so a line costs no allocation.
type ids struct {
	dec jsontext.Decoder
	src bytes.Buffer
}

func (d *ids) reset(record []byte) {
	d.src = *bytes.NewBuffer(record)
	// As sender the gateway is lenient towards repeated members, last one wins
	// (transports.md section 1).
	d.dec.Reset(&d.src, jsontext.AllowDuplicateNames(true))
}

// request returns the id of an outgoing message. It stops at the first one: the
// gateway built the message and puts it in front of the params.
func (d *ids) request(message []byte) (jsontext.Value, error) {
	id, err := d.find(message, true)
	if err != nil {
		return nil, err
	}
	if !usable(id) {
		return nil, errNoID
	}
	return id, nil
}

// answers reports whether record is a JSON object that carries id (R64).
// Everything else is noise (T16): not JSON, not UTF-8, no object, no id, the
// id of someone else, or an id of the other JSON type.
func (d *ids) answers(record []byte, id jsontext.Value) bool {
	got, err := d.find(record, false)
	return err == nil && usable(got) && sameID(got, id)
}

func (d *ids) find(record []byte, first bool) (id jsontext.Value, err error) {
	d.reset(record)
	if tok, err := d.dec.ReadToken(); err != nil {
		return nil, err
	} else if tok.Kind() != '{' {
		return nil, errNoID
	}
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		// An id may be spelled with escapes; unquoting is only for those.
		isID := string(name) == `"id"`
		if !isID && bytes.IndexByte(name, '\\') >= 0 {
			plain, err := jsontext.AppendUnquote(nil, name)
			isID = err == nil && string(plain) == "id"
		}
		if !isID {
			if err := d.dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		value, err := d.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		// The decoder's own value lives only to its next call.
		end := int(d.dec.InputOffset())
		id = record[end-len(value) : end]
		if first {
			return id, nil
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return id, nil
}

// usable says whether an id is a string or an integer; true, null, 1.0 and 1e0
// are neither.
func usable(id jsontext.Value) bool {
	if len(id) == 0 {
		return false
	}
	switch id.Kind() {
	case '"':
		return true
	case '0':
		return !bytes.ContainsAny(id, ".eE")
	default:
		return false
	}
}

func sameID(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a.Kind() != '"' || b.Kind() != '"' {
		return false
	}
	// The same string may be written with different escapes.
	x, errA := jsontext.AppendUnquote(nil, a)
	y, errB := jsontext.AppendUnquote(nil, b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
