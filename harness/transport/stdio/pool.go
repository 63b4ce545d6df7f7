package stdio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hookgate/hookgate/harness/protocol"
	"github.com/hookgate/hookgate/harness/transport"
)

// A Pool talks to one stdio backend through up to Options.Processes processes,
// each with one exchange at a time: the id on the wire is the caller's, so
// routing by it could hand one caller's answer to another (T23, T25).
type Pool struct {
	opts  Options
	env   []string
	slots []*slot
	queue queue
	ids   sync.Pool

	starts  atomic.Int64
	closing chan struct{}
	closed  chan struct{}
	once    sync.Once
}

var _ transport.Transport = (*Pool)(nil)

// New checks the options and resolves the environment. It starts nothing; the
// first message does.
func New(o Options) (*Pool, error) {
	if o.Command == "" {
		return nil, errors.New("stdio backend needs a command")
	}
	o.setDefaults()
	p := &Pool{
		opts:    o,
		env:     environment(o),
		ids:     sync.Pool{New: func() any { return new(ids) }},
		closing: make(chan struct{}),
		closed:  make(chan struct{}),
	}
	p.queue.closing = p.closing
	for range o.Processes {
		p.slots = append(p.slots, &slot{})
	}
	p.queue.free = append(p.queue.free, p.slots...)
	return p, nil
}

// Exchange sends a request and returns the record that carries its id.
func (p *Pool) Exchange(ctx context.Context, message []byte) (transport.Reply, error) {
	finder := p.ids.Get().(*ids)
	id, err := finder.request(message)
	finder.reset(nil)
	p.ids.Put(finder)
	if err != nil {
		return transport.Reply{}, transport.Fault(protocol.ProtocolRejection, protocol.FaultSchema, err)
	}
	s, err := p.queue.take(ctx)
	if err != nil {
		return transport.Reply{}, err
	}
	defer p.queue.put(s)
	for {
		c, reused, err := p.child(s)
		if err != nil {
			return transport.Reply{}, err
		}
		body, err := c.request(ctx, message, id, p.opts.PerEvent, p.opts.Logger)
		if err == nil {
			if p.opts.PerEvent || c.broken {
				p.retire(s)
			}
			return transport.Reply{Body: body}, nil
		}
		untouched := p.retireAfter(s, message, err)
		if reused && untouched && p.running(ctx) {
			continue // not reused a second time
		}
		return transport.Reply{}, p.explain(ctx, err)
	}
}

// Notify sends a notification. A persistent process is written to and not
// awaited; a process of its own is awaited.
func (p *Pool) Notify(ctx context.Context, message []byte) error {
	s, err := p.queue.take(ctx)
	if err != nil {
		return err
	}
	defer p.queue.put(s)
	for {
		c, reused, err := p.child(s)
		if err != nil {
			return err
		}
		if p.opts.PerEvent {
			err = c.last(ctx, message, p.closing)
			p.retire(s)
		} else if err = c.notify(ctx, message); err != nil {
			untouched := p.retireAfter(s, message, err)
			if reused && untouched && p.running(ctx) {
				continue
			}
		}
		return p.explain(ctx, err)
	}
}

// child returns the slot's process, a new one if there is none that is fit.
func (p *Pool) child(s *slot) (c *child, reused bool, err error) {
	if s.child != nil {
		if s.child.ready() {
			return s.child, true, nil
		}
		p.retire(s)
	}
	c, err = startChild(&p.opts, p.env)
	if err != nil {
		return nil, false, transport.Fault(protocol.TransportFault, protocol.FaultProcess, err)
	}
	p.starts.Add(1)
	s.set(c)
	// Close interrupts the children it finds in the slots. One that was put there
	// after it looked is caught here.
	select {
	case <-p.closing:
		p.retire(s)
		return nil, false, transport.ErrClosed
	default:
		return c, false, nil
	}
}

// retire ends a slot's process at once; the next use starts a new one (T17).
func (p *Pool) retire(s *slot) {
	c := s.child
	c.end()
	s.set(nil)
	c.closePipes()
}

// retireAfter is retire that also reports whether the process provably took no
// byte of the message: it had died idle, and the message may go to another
// without being delivered twice.
func (p *Pool) retireAfter(s *slot, message []byte, cause error) bool {
	c := s.child
	c.end()
	untouched := c.refused
	if errors.Is(cause, errEnded) && c.sent == len(message)+1 {
		// With the process gone nothing reads the pipe. If all of the message is
		// still in it, no byte of it was seen.
		untouched = unread(c.in) >= c.sent
	}
	s.set(nil)
	c.closePipes()
	return untouched
}

func (p *Pool) running(ctx context.Context) bool {
	select {
	case <-p.closing:
		return false
	default:
		return ctx.Err() == nil
	}
}

// explain turns the end of a conversation into a coded error. What the gateway
// ended itself is no fault of the backend (T21).
func (p *Pool) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-p.closing:
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", transport.ErrClosed, endError(ctx))
		}
		return transport.ErrClosed
	default:
	}
	switch {
	case ctx.Err() != nil:
		return endError(ctx)
	case errors.Is(err, errTooLong):
		return transport.Fault(protocol.ProtocolRejection, protocol.FaultRecordTooLong, err)
	case errors.Is(err, errEnded):
		return transport.Fault(protocol.ProtocolRejection, protocol.FaultProcess, err)
	default:
		return transport.Fault(protocol.TransportFault, protocol.FaultProcess, err)
	}
}

// Close refuses new calls, cancels and joins running ones, and stops every
// process: by end of input, then SIGTERM, then SIGKILL.
func (p *Pool) Close() error {
	p.once.Do(func() {
		defer close(p.closed)
		close(p.closing)
		for _, s := range p.slots {
			if c, _ := s.peek(); c != nil {
				c.interrupt()
			}
		}
		var stopping sync.WaitGroup
		for range p.slots {
			s := p.queue.takeAny() // joins the call that holds it
			if s.child == nil {
				continue
			}
			stopping.Go(func() {
				s.child.stop(p.opts.StopGrace)
				s.set(nil)
			})
		}
		stopping.Wait()
	})
	<-p.closed
	return nil
}

// Stats describe a pool's processes.
type Stats struct {
	// PIDs are those of the live processes.
	PIDs []int
	// Starts counts all processes ever started.
	Starts int64
	// Restarts counts those that replaced another one. Processes of per_event
	// backends replace none.
	Restarts int64
}

// Stats returns a snapshot.
func (p *Pool) Stats() Stats {
	st := Stats{Starts: p.starts.Load()}
	for _, s := range p.slots {
		c, starts := s.peek()
		if c != nil && !c.exited.Load() {
			st.PIDs = append(st.PIDs, c.pid)
		}
		if !p.opts.PerEvent && starts > 1 {
			st.Restarts += int64(starts - 1)
		}
	}
	return st
}
