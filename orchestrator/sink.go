package orchestrator

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/llmclient"
)

// errBreak is the cause of a run's end when its consumer broke out of the loop.
var errBreak = errors.New("the consumer of the events went away")

// sink brings events to the consumer, always on the goroutine of the loop. While tools run it is
// shared: then events of other goroutines wait in a queue, from which the goroutine of the loop
// drains them.
type sink struct {
	yield  func(Event, error) bool
	note   func(Event) // logs what is told; may be nil
	cancel context.CancelCauseFunc
	gone   bool // the consumer broke out; owned by the loop's goroutine

	yielding bool // the consumer has the word; left true only by a panic in it

	mu     sync.Mutex
	step   int  // the number of the step in progress
	shared int  // the same while its tools run; 0: none do
	ran    bool // its tools have run, and may not have ended
	queue  []Event
	wake   chan struct{}
	room   chan struct{} // closed when the queue is drained; nil: nobody waits for that
}

// deliver yields an event on the goroutine of the loop and reports whether anybody still listens.
func (s *sink) deliver(e *Event) bool {
	if s.gone || s.yielding { // it left, or panicked
		return false
	}
	if s.note != nil {
		s.note(*e)
	}
	s.yielding = true
	listens := s.yield(*e, nil)
	if s.yielding = false; !listens {
		s.gone = true
		s.cancel(errBreak)
	}
	return !s.gone
}

// last yields the last event, with the error of the run.
func (s *sink) last(e *Event, err error) bool {
	if !s.gone {
		s.gone = true
		if s.note != nil {
			s.note(*e)
		}
		s.yield(*e, err)
	}
	return false
}

func (s *sink) listening() bool { return !s.gone }

// begin says that a step is in progress. What is emitted of another one is lost.
func (s *sink) begin(seq int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step, s.ran = seq, false
}

// emit takes an event from any goroutine once tools run, and from the loop's own before. What a
// tool emits after its step is lost.
func (s *sink) emit(e *Event, tool bool) {
	s.mu.Lock()
	if e.Seq != s.step || tool && s.shared != e.Seq {
		s.mu.Unlock()
		return
	}
	if s.ran { // who emits now may be a tool, on a goroutine of its own
		s.queue = append(s.queue, *e)
		s.mu.Unlock()
		select {
		case s.wake <- struct{}{}:
		default:
		}
		return
	}
	s.mu.Unlock()
	s.deliver(e)
}

// nest takes an event of a run that a tool made in the step of that number. It waits while the
// consumer is far behind, so that a slow one slows that run, too. It returns false if the step is
// over.
func (s *sink) nest(ctx context.Context, e *Event, seq int) bool {
	const most = 256
	s.mu.Lock()
	for s.shared == seq && len(s.queue) >= most {
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return false
		}
		s.mu.Lock()
	}
	if s.shared != seq {
		s.mu.Unlock()
		return false
	}
	s.queue = append(s.queue, *e)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// share lets other goroutines emit while the tools of a step run. The channel says when to drain.
func (s *sink) share(seq int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	s.shared, s.ran = seq, true
	return s.wake
}

// unshare ends sharing and delivers what is left.
func (s *sink) unshare() {
	s.mu.Lock()
	s.shared = 0
	s.makeRoom()
	left := len(s.queue) > 0
	s.mu.Unlock()
	if left {
		s.drain()
	}
}

// makeRoom wakes those who wait for room. The lock is held.
func (s *sink) makeRoom() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// drain delivers the queue, on the goroutine of the loop.
func (s *sink) drain() {
	s.mu.Lock()
	queue := s.queue
	s.queue = nil
	s.makeRoom()
	s.mu.Unlock()
	for i := range queue {
		s.deliver(&queue[i])
	}
}

// idleWatch cancels a context when nothing has arrived for a while. It looks four times in that
// while instead of setting a timer anew at each piece, which would cost more than the piece.
type idleWatch struct {
	pieces atomic.Int64
	cancel context.CancelCauseFunc
	timer  *time.Timer
	seen   int64
	quiet  int
	mu     sync.Mutex // look may run while stop does
	done   bool
	rests  time.Time // until when the client waits on its own
}

const idleLooks = 4

func watchIdle(ctx context.Context, limit time.Duration) (context.Context, *idleWatch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &idleWatch{cancel: cancel}
	every := max(limit/idleLooks, time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(every, func() { w.look(limit, every) })
	return ctx, w
}

func (w *idleWatch) look(limit, every time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	if n := w.pieces.Load(); n != w.seen || n%2 == 1 || time.Now().Before(w.rests) {
		w.seen, w.quiet = n, 0
	} else {
		w.quiet++
	}
	if w.quiet >= idleLooks {
		w.cancel(&llmclient.Error{Code: llmclient.CodeTimeout, Message: "nothing arrived for " + limit.String(), Err: context.DeadlineExceeded})
		return
	}
	w.timer.Reset(every)
}

// rest says that the client waits on its own, before it asks again: nothing can arrive meanwhile.
func (w *idleWatch) rest(wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rests, w.quiet = time.Now().Add(wait), 0
}

func (w *idleWatch) around(next func(llmclient.Delta)) func(llmclient.Delta) {
	return func(d llmclient.Delta) {
		w.pieces.Add(1) // odd while the consumer has the word: its time is not the model's
		next(d)
		w.pieces.Add(1)
	}
}

func (w *idleWatch) stop() {
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
	w.timer.Stop()
	w.cancel(nil)
}
