package mcptools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is one connection with a server: a session of the SDK, and the command if there is one.
type link struct {
	session *mcp.ClientSession
	process *process      // nil for a URL
	gone    chan struct{} // closed when the connection has ended
}

func (l *link) alive() bool {
	select {
	case <-l.gone:
		return false
	default:
		return true
	}
}

// The pauses between attempts to connect again.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = time.Minute
)

// links makes the connections of a Toolset, one after the other.
type links struct {
	set *Toolset

	mu      sync.Mutex
	current *link
	attempt *attempt // in progress
	failed  int      // attempts in a row
	pause   time.Time
	last    error // of the last attempt
	closed  bool
	calls   calls
	stderrs *tail // of the last command
	all     sync.WaitGroup
}

// attempt is an attempt to connect.
type attempt struct {
	done chan struct{}
	link *link
	err  error
}

var errClosed = errors.New("the toolset is closed")

// get returns the connection, or makes a new one. After a failed attempt it fails at once until the
// pause is over.
func (s *links) get(ctx context.Context) (*link, error) {
	s.mu.Lock()
	switch {
	case s.closed || s.set.ctx.Err() != nil:
		s.mu.Unlock()
		return nil, s.set.failure("call it", errClosed)
	case s.current != nil && s.current.alive():
		defer s.mu.Unlock()
		return s.current, nil
	}
	a := s.attempt
	if a == nil {
		if wait := time.Until(s.pause); wait > 0 {
			defer s.mu.Unlock()
			return nil, s.set.failure("connect", fmt.Errorf("%w; the next attempt is possible in %v", s.last, wait.Round(100*time.Millisecond)))
		}
		a = &attempt{done: make(chan struct{})}
		s.attempt = a
		s.all.Go(func() { s.connect(a) })
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// connect makes an attempt.
func (s *links) connect(a *attempt) {
	ctx, cancel := context.WithTimeout(s.set.ctx, s.set.cfg.ConnectTimeout)
	defer cancel()
	a.link, a.err = s.open(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(a.done)
	s.attempt = nil
	if a.err == nil {
		s.current, s.failed, s.last = a.link, 0, nil
		return
	}
	pause := min(longestPause, firstPause<<min(s.failed, 10))
	s.failed++
	s.pause, s.last = time.Now().Add(pause), errors.Unwrap(a.err)
	if s.last == nil {
		s.last = a.err
	}
}

// open connects and lists the tools.
func (s *links) open(ctx context.Context) (*link, error) {
	t, p, err := s.set.transport()
	if err != nil {
		return nil, s.set.failure("start it", err)
	}
	if p != nil {
		s.mu.Lock()
		s.stderrs = p.stderr
		s.mu.Unlock()
	}
	held := &holder{Transport: t}
	session, err := s.set.client().Connect(ctx, held, s.set.sessionOptions())
	if err != nil {
		held.close()
		if p != nil {
			p.stop()
		}
		return nil, s.set.failure("connect", err)
	}
	l := &link{session: session, process: p, gone: make(chan struct{})}
	s.all.Go(func() {
		defer close(l.gone)
		_ = session.Wait()
		_ = session.Close() // ends what it still listens to
		if p != nil {
			p.stop()
		}
	})
	if err := s.set.list(ctx, l); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *link) close() {
	if l.process != nil {
		l.process.stop()
	}
	_ = l.session.Close()
	<-l.gone
}

// drop ends a connection of which a call has shown that it is dead.
func (s *links) drop(l *link) {
	s.mu.Lock()
	if s.current == l {
		s.current = nil
	}
	closed := s.closed
	if !closed {
		s.all.Go(l.close)
	}
	s.mu.Unlock()
}

func (s *links) close() {
	s.mu.Lock()
	s.closed = true
	l := s.current
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
	s.all.Wait()
	s.mu.Lock()
	late := s.current
	s.mu.Unlock()
	if late != nil && late != l {
		late.close()
	}
}

func (s *links) stderr() string {
	s.mu.Lock()
	t := s.stderrs
	s.mu.Unlock()
	if t == nil {
		return ""
	}
	return t.String()
}

// holder remembers the connection of a transport: an attempt that fails may leave it open.
type holder struct {
	mcp.Transport
	made mcp.Connection
}

// Connect implements [mcp.Transport].
func (h *holder) Connect(ctx context.Context) (mcp.Connection, error) {
	made, err := h.Transport.Connect(ctx)
	h.made = made
	return made, err
}

func (h *holder) close() {
	if h.made != nil {
		_ = h.made.Close()
	}
}
