package orchestrator

import (
	"errors"
	"iter"
)

// Fold runs through the events of [Orchestrator.Stream] or [Orchestrator.Resume] and returns what [Orchestrator.Run] would
// have returned.
func Fold(events iter.Seq2[Event, error]) (Result, error) {
	res, failed := Result{Status: StatusFailed}, errors.New("orchestrator: the events ended before the run did")
	for e, err := range events {
		if res.Run == "" {
			res.Run = e.Run
		}
		if end, ok := e.Detail.(RunFinished); ok {
			res, failed = end.result(e.Run), err
		} else if err != nil {
			failed = err
		}
	}
	return res, failed
}

func (f RunFinished) result(run string) Result {
	return Result{Run: run, Status: f.Status, Output: f.Output, Waits: f.Waits}
}

// Tee hands each event to the handlers, in their order, before it yields it. A handler that panics is told nothing more
// and ends nothing: neither the run nor the other handlers hear of it, except through onPanic, which may be nil.
func Tee(events iter.Seq2[Event, error], onPanic func(handler int, value any), handlers ...func(Event)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		silent := make([]bool, len(handlers))
		for e, err := range events {
			for i, h := range handlers {
				if silent[i] || e.Kind == "" {
					continue
				}
				if v := panicOf(func() { h(e) }); v != nil {
					silent[i] = true
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

func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}
