package orchestrator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/llmclient"
)

// sink brings events to the consumer, always on the goroutine of the loop.
type sink struct {
	yield  func(Event, error) bool
	note   func(Event) // logs what is told; may be nil
	cancel context.CancelCauseFunc
	gone   bool // the consumer broke out, or has had the last event

	yielding bool // the consumer has the word; left true only by a panic in it
}

// deliver yields an event.
func (s *sink) deliver(e *Event) {
	if s.gone || s.yielding { // it left, or panicked
		return
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
}

// last yields the last event, with the error of the run.
func (s *sink) last(e *Event, err error) {
	if !s.gone {
		s.gone = true
		if s.note != nil {
			s.note(*e)
		}
		s.yield(*e, err)
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
