package stdio

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"time"
)

const (
	stderrLine = 512             // bytes of a line that are logged
	stderrRate = 20              // lines logged per window
	stderrSpan = 1 * time.Second // the window
)

// drainStderr reads a child's standard error until it ends, so that no volume
// of it can block the child, and logs a bounded part of it.
func drainStderr(f *os.File, logger *slog.Logger) {
	defer func() { _ = f.Close() }()
	// The logger's handler is foreign code: it must not take the server down.
	defer func() {
		if recover() != nil {
			_, _ = discard(f)
		}
	}()
	if !logger.Enabled(context.Background(), slog.LevelDebug) {
		_, _ = discard(f)
		return
	}
	var (
		buf     = make([]byte, 8192)
		line    []byte
		since   time.Time
		logged  int
		skipped int
	)
	emit := func() {
		if now := time.Now(); now.Sub(since) >= stderrSpan {
			if skipped > 0 {
				logger.Debug("backend standard error suppressed", "lines", skipped)
			}
			since, logged, skipped = now, 0, 0
		}
		if logged < stderrRate {
			logged++
			logger.Debug("backend standard error", "text", string(line))
		} else {
			skipped++
		}
		line = line[:0]
	}
	for {
		n, err := f.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			part, after, full := bytes.Cut(rest, []byte("\n"))
			line = append(line, part[:min(len(part), stderrLine-len(line))]...)
			if full {
				emit()
			}
			rest = after
		}
		if err != nil {
			if len(line) > 0 {
				emit()
			}
			return
		}
	}
}

func discard(f *os.File) (total int64, err error) {
	buf := make([]byte, 8192)
	for {
		n, err := f.Read(buf)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}
