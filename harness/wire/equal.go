package wire

import (
	"bytes"
	"strconv"
)

// Equal is JSON equality: members in any order, 1 equals 1.0 and 1e0, exactly
// and without rounding, and a boolean is never a number (settlement section 5).
func Equal(a, b Value) bool {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return false
	}
	if ka <= True {
		return true
	}
	if bytes.Equal(a.Raw(), b.Raw()) {
		return true
	}
	switch ka {
	case Number:
		return equalNumbers(a.Raw(), b.Raw())
	case String:
		return bytes.Equal(a.Bytes(), b.Bytes())
	case Array:
		if a.Len() != b.Len() {
			return false
		}
		ia, ib := a.Iter(), b.Iter()
		for ia.Next() && ib.Next() {
			if !Equal(ia.Value(), ib.Value()) {
				return false
			}
		}
		return true
	default:
		if a.Len() != b.Len() {
			return false
		}
		for it := a.Iter(); it.Next(); {
			other := b.Get(it.Key().String())
			if !other.Exists() || !Equal(it.Value(), other) {
				return false
			}
		}
		return true
	}
}

// decimal is digits without leading or trailing zeros times ten to exp; zero
// has no digits.
type decimal struct {
	digits   []byte
	exp      int
	negative bool
}

func parseDecimal(text []byte) decimal {
	var d decimal
	if len(text) > 0 && text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		d.exp, _ = strconv.Atoi(string(text[i+1:]))
		text = text[:i]
	}
	if i := bytes.IndexByte(text, '.'); i >= 0 {
		d.exp -= len(text) - i - 1
		text = append(append(make([]byte, 0, len(text)), text[:i]...), text[i+1:]...)
	}
	text = bytes.TrimLeft(text, "0")
	trimmed := bytes.TrimRight(text, "0")
	d.exp += len(text) - len(trimmed)
	d.digits = trimmed
	return d
}

func equalNumbers(a, b []byte) bool {
	return CompareNumbers(a, b) == 0
}

// CompareNumbers orders two JSON number texts by value, exactly.
func CompareNumbers(a, b []byte) int {
	x, y := parseDecimal(a), parseDecimal(b)
	sx, sy := x.sign(), y.sign()
	switch {
	case sx != sy:
		if sx < sy {
			return -1
		}
		return 1
	case sx == 0:
		return 0
	}
	return sx * x.compareMagnitude(y)
}

func (d decimal) sign() int {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

func (d decimal) compareMagnitude(o decimal) int {
	// The place of the leading digit decides first, then digit by digit.
	if p, q := len(d.digits)+d.exp, len(o.digits)+o.exp; p != q {
		if p < q {
			return -1
		}
		return 1
	}
	return bytes.Compare(d.digits, o.digits)
}
