package strategytest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// process is an Orchestrator whose model, store and stop can be changed, because making an
// Orchestrator takes longer than a run.
type process struct {
	*store
	*model
	t     *testing.T
	o     *orchestrator.Orchestrator
	task  orchestrator.Task
	stop  stop
	known *spot // where the run is stopped; nil if the script says it
	late  bool  // the run continues after that place
	stops *stopper
	keys  *keys
	notes []storyNote
	said  *saying
	comes noteKeys // nil if the script says where the notes come

	changes atomic.Int64 // effects that began or ended, and stops that were asked for
	moments []int64      // the moment of each event of the run
}

func newProcess(t *testing.T, r *storyRun, stores bool) *process {
	t.Helper()
	p := &process{t: t}
	cfg := r.config
	cfg.Client, cfg.Reply = p, makeAgain
	cfg.Middleware = []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			p.changes.Add(1)
			defer p.changes.Add(1)
			return p.keys.around(p.said.around(p.stops.places, p.stops.around(next)))(ctx, e)
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

// play has the process make a run whose tools and strategies are those that it was made for.
func (p *process) play(r *storyRun, m *model) {
	p.task, p.stop, p.notes, p.model = r.task, r.stop, r.notes, m
	p.known, p.comes = nil, nil
}

// makeAgain repeats calls that may have had their effect. Other questions get no answer.
func makeAgain(_ context.Context, w machine.Wait) (machine.Reply, error) {
	if w.Kind == machine.WaitUnknown {
		return machine.Reply{Approve: true}, nil
	}
	return machine.Reply{}, fmt.Errorf("strategytest: nobody is there: %w", tools.ErrSuspended)
}

// begin prepares a run whose journal is in a store; nil means no journal.
func (p *process) begin(s *store) context.Context {
	ctx, stops := newStopper(p.t.Context(), p.stop, newPlaces())
	stops.known = p.known
	var before []machine.Record
	if s != nil {
		before = s.journal(p.t)
	}
	p.store, p.stops, p.keys = s, stops, newKeys(before)
	p.late = p.known != nil && p.keys.passed(before, p.known.key)
	p.said = newSaying(slices.Clone(p.notes), p.comes, before)
	p.moments = nil
	p.changes.Store(0)
	p.task.Stop, p.task.Notes = stops.asked, p.said.channel
	return ctx
}

func (p *process) run(s *store) (orchestrator.Result, error) {
	ctx := p.begin(s)
	defer p.stops.cancel(nil)
	return p.o.Run(ctx, p.task)
}

func (p *process) stream(s *store) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		ctx := p.begin(s)
		defer p.stops.cancel(nil)
		p.follow(p.o.Stream(ctx, p.task), yield)
	}
}

// resume continues the run.
func (p *process) resume(s *store) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		ctx := p.begin(s)
		defer p.stops.cancel(nil)
		p.follow(p.o.Resume(ctx, orchestrator.Resumption{Run: storyID, Stop: p.stops.asked, Notes: p.said.channel}), yield)
	}
}

// follow passes events on. If the run is stopped where agents begin, it stops it there. A run that
// continues after the place where it should be stopped is stopped there.
func (p *process) follow(events iter.Seq2[machine.Event, error], yield func(machine.Event, error) bool) {
	for e, err := range events {
		caller, begins := p.stops.event(&e)
		switch {
		case p.known == nil && begins && p.stop.hits(caller):
			p.stops.request(spot{key: p.keys.last(parent(e.Frame)), agent: e.Frame})
		case p.known == nil || p.known.key == "":
		case begins && p.known.agent == e.Frame, e.Kind == machine.EventRunResumed && p.late:
			p.stops.request(*p.known)
			p.changes.Add(1)
		}
		p.moments = append(p.moments, p.moment())
		if !yield(e, err) {
			return
		}
	}
}

// moment counts what has changed what the run leaves behind if it is broken off: its appends, its
// effects that began or ended, and stops that were asked for.
func (p *process) moment() int64 {
	n := p.changes.Load()
	if p.store != nil {
		p.store.mu.Lock()
		defer p.store.mu.Unlock()
		n += int64(len(p.log))
	}
	return n
}

// changing returns the numbers of the events of the run, from 1, that were not of the same moment
// as the event before: what lies between two of them leaves behind the same.
func (p *process) changing() (events []int) {
	for i, moment := range p.moments {
		if i == 0 || moment != p.moments[i-1] {
			events = append(events, i+1)
		}
	}
	return events
}
