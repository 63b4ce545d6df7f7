package stdio

import "bytes"

// keepBuffer is the largest buffer a child keeps between exchanges. One large
// answer must not pin its megabytes for the life of the process.
const keepBuffer = 256 << 10

// lines cuts a child's output into records. Its buffer never grows beyond the
// record limit and the line feed (T22).
type lines struct {
	max   int
	buf   []byte
	start int // first byte not yet handed out
	seen  int // no line feed between start and here
	end   int
	// dropped counts the bytes of an unfinished line that were discarded before
	// the request went out. Whatever completes it is part of a stale line and no
	// answer (T25).
	dropped int
}

// next returns the next complete record, which is valid until the next call of
// space. tooLong reports that the current one exceeds the limit.
func (l *lines) next() (line []byte, ok, tooLong bool) {
	for {
		i := bytes.IndexByte(l.buf[l.seen:l.end], '\n')
		if i < 0 {
			l.seen = l.end
			return nil, false, l.dropped+l.end-l.start > l.max
		}
		line = l.buf[l.start : l.seen+i]
		l.start = l.seen + i + 1
		l.seen = l.start
		stale := l.dropped > 0
		if l.dropped+len(line) > l.max {
			return nil, false, true
		}
		l.dropped = 0
		if !stale {
			return line, true, false
		}
	}
}

// space returns room for more bytes, to be announced with add.
func (l *lines) space() []byte {
	if l.start == l.end {
		l.start, l.seen, l.end = 0, 0, 0
	}
	if l.end < len(l.buf) {
		return l.buf[l.end:]
	}
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.seen -= l.start
		l.start = 0
		return l.buf[l.end:]
	}
	size := min(max(2*len(l.buf), 4096), l.max+1)
	size = max(size, l.end+1)
	grown := make([]byte, size)
	copy(grown, l.buf[:l.end])
	l.buf = grown
	return l.buf[l.end:]
}

func (l *lines) add(n int) { l.end += n }

// forget discards what is buffered.
func (l *lines) forget() {
	rest := l.buf[l.start:l.end]
	l.start, l.seen, l.end = 0, 0, 0
	l.drop(rest)
	if len(l.buf) > keepBuffer {
		l.buf = nil
	}
}

// drop accounts for output that is discarded unread.
func (l *lines) drop(p []byte) {
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		l.dropped = len(p) - i - 1
	} else {
		l.dropped += len(p)
	}
}
