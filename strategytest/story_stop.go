package strategytest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing/synctest"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// stop is where and how a script stops a run.
type stop struct {
	where string // "#3", "4/c1/2#1" or "0.1": see Stories; "" means nowhere
	now   bool
}

// hits reports whether the stop is in that step.
func (s stop) hits(p place) bool {
	return s.where != "" && (s.where == p.String() || p.agent == "" && s.where == p.frame)
}

// spot is where a run was stopped, in a form that does not depend on how the run is made.
type spot struct {
	key   string // of the step, or of the last effect before the agents that begin
	agent string // the frame of the first of these; "" if it was stopped in an effect
}

// errNow is the reason for immediate stops.
var errNow = errors.New("the user left")

// stopper stops one run: where the script says, or where it was stopped before.
type stopper struct {
	stop
	*places
	cancel context.CancelCauseFunc
	asked  chan struct{} // the Stop of its Task
	known  *spot         // nil if the script says it
	done   atomic.Bool
	found  spot // set once it is done
}

func newStopper(ctx context.Context, s stop, at *places) (context.Context, *stopper) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &stopper{stop: s, places: at, cancel: cancel, asked: make(chan struct{})}
}

func (s *stopper) made() bool { return s.done.Load() }

// around is a middleware that stops the run in a step; in a batch, in its first call.
func (s *stopper) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if e.ID.Index <= 1 && s.isHere(ctx, &e) {
			synctest.Wait() // for concurrent calls
			s.request(spot{key: keyOf(ctx)})
		}
		return next(ctx, e)
	}
}

// isHere reports whether the run should be stopped in an effect.
func (s *stopper) isHere(ctx context.Context, e *machine.Effect) bool {
	if s.known != nil {
		return *s.known == spot{key: keyOf(ctx)}
	}
	return s.hits(s.at(e.Frame, e.ID.Seq))
}

// request requests the stop, once.
func (s *stopper) request(where spot) {
	if s.done.Swap(true) {
		return
	}
	s.found = where
	if s.now {
		s.cancel(errNow)
	} else {
		close(s.asked)
	}
}
