package wire

// Member is a name and a value to put into an object.
type Member struct {
	Name  string // plain ASCII, no escapes needed
	Value Value
}

// Rebuild makes a document of object v without the members named in drop and
// with add at its front. The index is carried over, not made anew: nothing is
// parsed again, and the text of what stays is copied as it is.
func Rebuild(v Value, add []Member, drop ...string) *Doc {
	src := v.doc
	head := &src.nodes[v.at]
	size, count := int(head.end-head.start)+2, int(head.next-v.at)
	for _, m := range add {
		n := &m.Value.doc.nodes[m.Value.at]
		size += len(m.Name) + 4 + int(n.end-n.start)
		count += 1 + int(n.next-m.Value.at)
	}
	out := &Doc{raw: make([]byte, 0, size), nodes: make([]node, 1, count)}
	out.raw = append(out.raw, '{')
	for _, m := range add {
		out.name([]byte(`"`+m.Name+`"`), false)
		out.copyValue(m.Value)
	}
	// Runs of members that stay are copied in one piece.
	for it := v.Iter(); it.Next(); {
		if dropped(&it, drop) {
			continue
		}
		key := &src.nodes[it.key]
		out.name(src.raw[key.start:key.end], key.escaped)
		out.copyValue(it.Value())
	}
	out.raw = append(out.raw, '}')
	out.nodes[0] = node{
		end: uint32(len(out.raw)), next: uint32(len(out.nodes)),
		count: out.nodes[0].count, kind: Object,
	}
	return out
}

func dropped(it *Iter, drop []string) bool {
	for _, name := range drop {
		if it.KeyIs(name) {
			return true
		}
	}
	return false
}

// name appends a member's name, already quoted.
func (d *Doc) name(quoted []byte, escaped bool) {
	if d.nodes[0].count > 0 {
		d.raw = append(d.raw, ',')
	}
	d.nodes[0].count++
	at := uint32(len(d.raw))
	d.raw = append(d.raw, quoted...)
	d.nodes = append(d.nodes, node{
		start: at, end: uint32(len(d.raw)), next: uint32(len(d.nodes)) + 1,
		kind: String, escaped: escaped,
	})
	d.raw = append(d.raw, ':')
}

// copyValue appends a subtree, its text and its index shifted to the new place.
func (d *Doc) copyValue(v Value) {
	first, last := v.at, v.doc.nodes[v.at].next
	at, index := uint32(len(d.raw)), uint32(len(d.nodes))
	from := v.doc.nodes[first].start
	d.raw = append(d.raw, v.Raw()...)
	d.nodes = append(d.nodes, v.doc.nodes[first:last]...)
	for i := range d.nodes[index:] {
		n := &d.nodes[int(index)+i]
		n.start += at - from
		n.end += at - from
		n.next += index - first
	}
}

// Replacement is new text for the bytes from Start to End of a document.
type Replacement struct {
	Start, End int
	Text       []byte
}

// Splice is raw with the replacements made, which must be in order and apart.
func Splice(raw []byte, rs []Replacement) []byte {
	size := len(raw)
	for _, r := range rs {
		size += len(r.Text) - (r.End - r.Start)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, r := range rs {
		out = append(append(out, raw[at:r.Start]...), r.Text...)
		at = r.End
	}
	return append(out, raw[at:]...)
}

// AppendQuote appends s as a JSON string.
func AppendQuote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// Quote is a document that holds the string s.
func Quote(s string) *Doc {
	raw := AppendQuote(make([]byte, 0, len(s)+2), s)
	return &Doc{raw: raw, nodes: []node{{
		end: uint32(len(raw)), next: 1, kind: String, escaped: len(raw) != len(s)+2,
	}}}
}

// MustParse is Parse for texts of our own.
func MustParse(text string) *Doc {
	doc, err := Parse([]byte(text))
	if err != nil {
		panic("wire: " + err.Error())
	}
	return doc
}
