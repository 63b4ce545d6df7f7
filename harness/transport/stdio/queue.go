package stdio

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"github.com/hookgate/hookgate/harness/transport"
)

// A slot is the right to talk to one child. Whoever took it is the only one to
// use its child, so an exchange needs no lock (T23).
type slot struct {
	mu     sync.Mutex // guards child against Close and Stats only
	child  *child
	starts int
}

func (s *slot) set(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.child = c
	if c != nil {
		s.starts++
	}
}

func (s *slot) peek() (c *child, starts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child, s.starts
}

// queue hands out slots: to waiting callers in the order they came, otherwise
// the one used last, so that light load keeps to one warm process.
type queue struct {
	mu      sync.Mutex
	free    []*slot
	waiting list.List // of chan *slot
	closing chan struct{}
}

func (q *queue) take(ctx context.Context) (*slot, error) {
	select {
	case <-q.closing:
		return nil, transport.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return nil, queuedError(ctx)
	}
	s, turn, place := q.enter()
	if s != nil {
		return s, nil
	}
	select {
	case s := <-turn:
		// Select picks at random when both are ready. To begin an exchange that
		// is already over would only cost a healthy process its life.
		if ctx.Err() != nil {
			q.put(s)
			return nil, queuedError(ctx)
		}
		return s, nil
	case <-ctx.Done():
		q.leave(turn, place)
		return nil, queuedError(ctx)
	case <-q.closing:
		q.leave(turn, place)
		return nil, transport.ErrClosed
	}
}

// takeAny waits without limit; Close joins the running exchanges by it.
func (q *queue) takeAny() *slot {
	s, turn, _ := q.enter()
	if s == nil {
		s = <-turn
	}
	return s
}

func (q *queue) enter() (*slot, chan *slot, *list.Element) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.free); n > 0 {
		s := q.free[n-1]
		q.free = q.free[:n-1]
		return s, nil, nil
	}
	turn := make(chan *slot, 1)
	return nil, turn, q.waiting.PushBack(turn)
}

// leave gives up a place (T24). A slot handed over at the same moment goes on
// to the next in line.
func (q *queue) leave(turn chan *slot, place *list.Element) {
	q.mu.Lock()
	q.waiting.Remove(place)
	q.mu.Unlock()
	select {
	case s := <-turn:
		q.put(s)
	default:
	}
}

func (q *queue) put(s *slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if first := q.waiting.Front(); first != nil {
		q.waiting.Remove(first)
		first.Value.(chan *slot) <- s
		return
	}
	q.free = append(q.free, s)
}

func queuedError(ctx context.Context) error {
	return fmt.Errorf("%w: %w", transport.ErrQueued, endError(ctx))
}

// endError says why ctx ended. It always wraps ctx.Err(), and the cause too
// where one was given, so that the caller learns which of its limits fired.
func endError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err { //nolint:errorlint // identity is meant: only a distinct cause adds anything
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
