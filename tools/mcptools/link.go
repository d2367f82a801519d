package mcptools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is one connection with a server: a session of the SDK, and the command if there is one.
type link struct {
	session *mcp.ClientSession
	process *process      // nil for a URL
	opened  time.Time     // when it was
	changed chan struct{} // has capacity 1: the server says that its tools have changed
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

// close ends the connection, and waits until it has ended.
func (l *link) close() {
	if l.process != nil {
		l.process.stop()
	}
	_ = l.session.Close()
	<-l.gone
}

// farewell is how long the end of a connection waits for the SDK to tell a server that its calls
// are cancelled. The SDK does not say when it has.
const farewell = 100 * time.Millisecond

// The pauses between attempts to connect. A connection that lives shorter than steady counts as an
// attempt that failed. A call waits for a pause that is not longer than patience.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = time.Minute
	steady       = 10 * time.Second
	patience     = time.Second
)

// links makes the connections of a Toolset, one after the other.
type links struct {
	set   *Toolset
	calls calls
	all   sync.WaitGroup // goroutines; started with the lock held unless closed, or by one of them

	mu      sync.Mutex
	current *link // nil: none
	attempt *attempt
	failed  int       // attempts in a row
	next    time.Time // of the next attempt
	last    error     // of the last attempt; nil if it succeeded
	closed  bool
	stderrs *tail // of the last command; nil: none
}

// attempt is an attempt to connect.
type attempt struct {
	done chan struct{}
	link *link
	err  error
}

var (
	errClosed = errors.New("the toolset is closed")
	errPause  = errors.New("it failed before")
	errBroke  = errors.New("its last connection broke off soon")
)

// get returns the connection, or makes a new one. After failures it makes no attempt before a pause
// is over, which doubles with each of them.
func (s *links) get(ctx context.Context) (*link, error) {
	for {
		l, a, wait, err := s.tryGet()
		if l != nil || err != nil {
			return l, err
		}
		if a != nil {
			select {
			case <-a.done:
				return a.link, a.err
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.set.ctx.Done():
		}
	}
}

// tryGet returns the connection, or an attempt to make one, or how long to wait before that.
func (s *links) tryGet() (*link, *attempt, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.set.ctx.Err() != nil {
		return nil, nil, 0, s.set.failure("connect", errClosed)
	}
	if s.current != nil && s.current.alive() {
		return s.current, nil, 0, nil
	}
	s.forget()
	if s.attempt != nil {
		return nil, s.attempt, 0, nil
	}
	if wait := time.Until(s.next); wait > patience {
		return nil, nil, 0, s.set.failure("connect", fmt.Errorf("%w (%w); the next attempt is possible in %v", errPause, s.last, wait.Round(time.Second)))
	} else if wait > 0 {
		return nil, nil, wait, nil
	}
	a := &attempt{done: make(chan struct{})}
	s.attempt = a
	s.all.Go(func() { s.connect(a) })
	return nil, a, 0, nil
}

// forget takes leave of a connection that has ended. The lock is held.
func (s *links) forget() {
	if s.current == nil {
		return
	}
	if time.Since(s.current.opened) >= steady {
		s.failed, s.next, s.last = 0, time.Time{}, nil
	} else {
		s.pause(errBroke)
	}
	s.current = nil
}

// pause sets the time of the next attempt. The lock is held.
func (s *links) pause(err error) {
	s.next = time.Now().Add(min(longestPause, firstPause<<min(s.failed, 10)))
	s.failed++
	s.last = err
}

// connect makes an attempt.
func (s *links) connect(a *attempt) {
	ctx, cancel := s.set.connectTimeout(s.set.ctx)
	defer cancel()
	l, err := s.open(ctx)
	defer close(a.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.closed {
		s.all.Go(l.close)
		l, err = nil, s.set.failure("connect", errClosed)
	}
	a.link, a.err, s.attempt = l, err, nil
	if err == nil {
		s.current = l
		return
	}
	reason := err
	if e, ok := errors.AsType[*ServerError](err); ok {
		reason = e.Err
	}
	s.pause(reason)
}

// open connects and lists the tools.
func (s *links) open(ctx context.Context) (*link, error) {
	l := &link{changed: make(chan struct{}, 1), gone: make(chan struct{})}
	s.set.last.Store(nil) // a new attempt
	t, p, err := s.set.transport()
	if err != nil {
		return nil, s.set.failure("start it", err)
	}
	if l.process = p; p != nil {
		s.mu.Lock()
		s.stderrs = p.stderr
		s.mu.Unlock()
	}
	held := &holder{Transport: t}
	session, err := s.set.client(l).Connect(ctx, held, &mcp.ClientSessionOptions{ProtocolVersion: s.set.cfg.Protocol})
	if err != nil {
		held.close()
		return nil, s.set.failure("connect", s.whyNot(ctx, p, err))
	}
	l.session, l.opened = session, time.Now()
	s.all.Go(func() { s.tend(l) })
	if err := s.set.list(ctx, l); err != nil {
		l.close()
		return nil, err
	}
	s.all.Go(func() { s.follow(l) })
	return l, nil
}

// whyNot ends a command that could not be connected with, and adds what it wrote.
func (s *links) whyNot(ctx context.Context, p *process, err error) error {
	err = unlessLate(ctx, err)
	if p == nil {
		if dial, ok := errors.AsType[*net.OpError](err); ok && notSent(err) {
			return fmt.Errorf("%w: %w", errNobodyThere, dial)
		}
		if _, late := errors.AsType[*cause](err); late {
			return err
		}
		return s.set.last.why(err)
	}
	if errors.Is(err, mcp.ErrConnectionClosed) {
		err = &cause{text: "it closed the connection", err: err}
	}
	p.stop()
	if wrote := lastLines(p.stderr.String(), 500); wrote != "" {
		err = fmt.Errorf("%w; it wrote last: %s", err, wrote)
	}
	return err
}

// connectTimeout bounds the time to connect and to list the tools. Its end has the cause that
// people are told.
func (s *Toolset) connectTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	late := &cause{text: fmt.Sprintf("it did not answer within %v", s.cfg.ConnectTimeout), err: context.DeadlineExceeded}
	return context.WithTimeoutCause(ctx, s.cfg.ConnectTimeout, late)
}

// unlessLate returns err, or the cause of the end of a connectTimeout if that has come.
func unlessLate(ctx context.Context, err error) error {
	if late, ok := errors.AsType[*cause](context.Cause(ctx)); ok {
		return late
	}
	return err
}

// lastLines returns the end of a text.
func lastLines(text string, most int) string {
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return clean(text, most+len("…"))
}

// tend waits until a connection ends, and cleans up behind it.
func (s *links) tend(l *link) {
	defer close(l.gone)
	_ = l.session.Wait()
	if l.process != nil {
		l.process.stop()
	}
	_ = l.session.Close() // ends what it still listens to
}

// relist is the least time from one listing of tools that have changed to the next: a server that
// always says so does not keep this process busy.
const relist = time.Second

// follow lists the tools anew when the server says that they have changed.
func (s *links) follow(l *link) {
	for {
		select {
		case <-l.gone:
			return
		case <-l.changed:
			if err := s.set.list(s.set.ctx, l); err != nil && l.alive() {
				s.set.cfg.Logger.Warn("the changed tools of an MCP server cannot be listed", slog.String("server", s.set.cfg.Name), slog.Any("error", err))
			}
			select {
			case <-l.gone:
				return
			case <-time.After(relist):
			}
		}
	}
}

// drop ends a connection of which a call has shown that it is of no use.
func (s *links) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == l {
		s.forget()
	}
	if !s.closed {
		s.all.Go(l.close)
	}
}

// close ends everything, and waits for it.
func (s *links) close() {
	s.mu.Lock()
	s.closed = true
	l := s.current
	s.mu.Unlock()
	if l != nil {
		if l.process == nil && s.calls.any() {
			time.Sleep(farewell)
		}
		l.close()
	}
	s.all.Wait()
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
