package orchestrator

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
)

// consumer is who reads the events of a run. They are yielded always on the goroutine of the loop.
type consumer struct {
	yield    func(Event, error) bool
	log      func(Event) // logs what is told; may be nil
	followed *run        // whose events that no journal keeps go to those who follow it; nil: nobody can
	cancel   context.CancelCauseFunc
	gone     bool // the consumer broke out, or has had the last event

	yielding bool // the consumer has the word; left true only by a panic in it
}

// deliver yields an event.
func (c *consumer) deliver(e *Event) {
	if c.gone || c.yielding { // it left, or panicked
		return
	}
	if c.log != nil {
		c.log(*e)
	}
	if c.followed != nil && e.Index == 0 {
		c.followed.o.followers.told(c.followed.journal.key, e)
	}
	c.yielding = true
	listens := c.yield(*e, nil)
	if c.yielding = false; !listens {
		c.gone = true
		c.cancel(errBreak)
	}
}

// last yields the last event, with the error of the run.
func (c *consumer) last(e *Event, err error) {
	if !c.gone {
		c.gone = true
		if c.log != nil {
			c.log(*e)
		}
		c.yield(*e, err)
	}
}

// Collect runs through the events of [Orchestrator.Stream] or [Orchestrator.Resume] to their end
// and returns what [Orchestrator.Run] would have returned. Of a run that could not be started there
// is nothing but the error. Events that end without RunFinished and without an error are an error
// that wraps [io.ErrUnexpectedEOF].
func Collect(events iter.Seq2[Event, error]) (Result, error) {
	res := Result{Status: StatusFailed}
	for e, err := range events {
		if end, ok := e.Detail.(RunFinished); ok {
			return result(&end, e.Run), err
		}
		if err != nil {
			return res, err
		}
		res.Run = e.Run
	}
	return res, fmt.Errorf("orchestrator: the events of run %.64q end before the run does: %w", res.Run, io.ErrUnexpectedEOF)
}

// result is how a run ended, as its last event says.
func result(f *RunFinished, run string) Result {
	return Result{Run: run, Status: f.Status, Output: f.Output, Waits: f.Waits, Strategy: f.Strategy, Limits: f.Limits, Left: f.Left}
}

// Tee hands each event to the handlers, in their order, before it yields it, on the same goroutine:
// a handler that is slow slows the run. One that panics is told nothing more and ends nothing:
// neither the run nor the other handlers hear of it, except through onPanic, which may be nil. A
// nil handler is left out. An error that comes without an event is for the consumer only.
func Tee(events iter.Seq2[Event, error], onPanic func(handler int, value any), handlers ...func(Event)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		listening := slices.Clone(handlers)
		for e, err := range events {
			for i, h := range listening {
				if h == nil || e.Kind == "" && err != nil {
					continue
				}
				if v := callHandler(h, e); v != nil {
					listening[i] = nil
					if onPanic != nil {
						onPanic(i, v)
					}
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// callHandler returns the value of a handler's panic; nil if it did not panic.
func callHandler(h func(Event), e Event) (value any) {
	defer func() { value = recover() }()
	h(e)
	return nil
}
