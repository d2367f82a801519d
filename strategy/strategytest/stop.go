package strategytest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/synctest"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// stop is where a script has a run stopped, and how.
type stop struct {
	at  string // "#3", "4/c1/2#1" or "0.1": see Stories; "": nowhere
	now bool
}

// in reports whether it is in a step of that run, number and frame.
func (s stop) in(run string, seq int, frame string) bool {
	agent := nameOf(run)
	return s.at == agent+"#"+strconv.Itoa(seq) || agent == "" && s.at == frame
}

// nameOf is the name of the run of an agent; "" for that of the story.
func nameOf(run string) string { return strings.TrimPrefix(strings.TrimPrefix(run, storyID), "/") }

// Why runs are stopped.
var (
	errNow   = errors.New("the user left")
	errAfter = errors.New("stop was asked for") // as an Orchestrator says it whose Task is stopped
)

// stopper stops one run.
type stopper struct {
	stop
	cancel  context.CancelCauseFunc
	asked   chan struct{} // the Stop of its Task
	resumed bool          // it has no Task
	done    atomic.Bool
	key     string // of the step, once it is done
}

func newStopper(ctx context.Context, s stop) (context.Context, *stopper) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &stopper{stop: s, cancel: cancel, asked: make(chan struct{})}
}

func (s *stopper) made() bool { return s.done.Load() }

// around is a middleware that stops the run in the step that the script names.
func (s *stopper) around(next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
		if !s.in(call.Run, call.Seq, call.Frame) || s.done.Swap(true) {
			return next(ctx, call)
		}
		s.key = call.Key()
		synctest.Wait() // for those that work at the same time
		switch {
		case s.now:
			s.cancel(errNow)
		case s.resumed:
			defer s.cancel(errAfter)
		default:
			close(s.asked)
		}
		return next(ctx, call)
	}
}
