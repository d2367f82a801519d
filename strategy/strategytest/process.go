package strategytest

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
)

// process is an Orchestrator whose store, and whose stop, change: to make one takes longer than a
// run.
type process struct {
	*store
	t     *testing.T
	o     *orchestrator.Orchestrator
	task  orchestrator.Task
	stop  stop
	stops *stopper
}

func newProcess(t *testing.T, r *storyRun, m *model, stores bool) *process {
	t.Helper()
	p := &process{t: t, task: r.task, stop: r.stop}
	cfg := r.config
	cfg.Client = m
	cfg.Middleware = []orchestrator.Middleware{m.around, func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, call orchestrator.Call) (nextstep.Answer, error) {
			return p.stops.around(next)(ctx, call)
		}
	}}
	if stores {
		cfg.Store = p
	}
	var err error
	p.o, err = orchestrator.New(cfg)
	require.NoError(t, err)
	return p
}

// begin prepares for a run, whose journal is in a store.
func (p *process) begin(s *store) (context.Context, orchestrator.Task) {
	ctx, stops := newStopper(p.t.Context(), p.stop)
	p.store, p.stops = s, stops
	task := p.task
	task.Stop = stops.asked
	return ctx, task
}

func (p *process) run(s *store) (orchestrator.Result, error) {
	ctx, task := p.begin(s)
	defer p.stops.cancel(nil)
	return p.o.Run(ctx, task)
}

func (p *process) stream(s *store) iter.Seq2[orchestrator.Event, error] {
	return func(yield func(orchestrator.Event, error) bool) {
		ctx, task := p.begin(s)
		defer p.stops.cancel(nil)
		p.o.Stream(ctx, task)(yield)
	}
}

// resume goes on with the run. One whose stop was asked for before it was broken off, and came to
// nothing, is stopped.
func (p *process) resume(s *store) iter.Seq2[orchestrator.Event, error] {
	return func(yield func(orchestrator.Event, error) bool) {
		ctx, _ := p.begin(s)
		defer p.stops.cancel(nil)
		p.stops.resumed = true
		overdue := s.holds(p.t, p.stop)
		for e, err := range p.o.Resume(ctx, storyID) {
			if overdue && e.Kind == orchestrator.EventRunResumed {
				p.stops.cancel(errAfter)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
