package orchestrator

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
)

// run is one run in progress: a Machine, and the effects that are performed for it.
type run struct {
	o       *Orchestrator
	bench   *bench
	m       *machine.Machine // of the bench
	id      string
	ctx     context.Context
	cancel  context.CancelCauseFunc
	deaf    func() bool     // the end of ctx wakes the loop no more; nil: it does not yet
	stop    <-chan struct{} // nil: nobody will, or somebody has
	ending  stopping
	streams bool
	sink    sink
	now     time.Time // of the last record, or what came after it

	box     mailbox
	flights map[machine.EffectID]*flight // effects that are performed on goroutines of their own
	graced  bool                         // they were given the time to return after a stop
	inline  *flight                      // the effect that is performed on this one; nil once the run is over
	asking  context.Context              // the context of the run for the client; see notified
	onDelta func(llmclient.Delta)        // of inline
	timer   *time.Timer
	due     time.Time // when timer goes off; zero: it is not set
	agents  []agentDue
	asks    map[string][]*question // by the id of their wait

	journal journal
	claimed bool
	replays bool    // the journal is being read
	drifted []Event // what reading it has shown, to be told
	lent    lent
	causes  causes
	dropped bool            // what comes in is worth nothing any more
	refused []error         // replies of Config.Reply to other waits than those it was asked about
	given   map[string]bool // waits whose replies came with the resumption
}

// stopping is how far a run was asked to stop.
type stopping uint8

const (
	goesOn stopping = iota
	stopsAfter
	stopsNow
)

// begin makes a run of a task.
func (o *Orchestrator) begin(ctx context.Context, task *Task, streams bool) (*run, error) {
	id := task.Run
	if id == "" {
		made, err := uuid.NewV7()
		if err != nil {
			return nil, &ConfigError{Field: "Run", Err: err}
		}
		id = made.String()
	} else if err := checkpoint.CheckRun(id); err != nil {
		return nil, &ConfigError{Field: "Run", Err: err}
	}
	r := o.newRun(ctx, id, streams)
	r.stop = task.Stop
	err := r.claim()
	if err == nil {
		err = r.m.Apply(machine.Started{
			At: r.now, Run: id, Strategy: either(task.Strategy, o.byDefault), Input: task.Input, Limits: task.Limits, Library: version(),
		})
	}
	if err == nil && o.store != nil { // what is kept is what the Machine made of it
		err = r.keep(r.m.Started())
	}
	if err == nil {
		err = r.store()
	}
	if err != nil {
		r.close()
		if errors.Is(err, checkpoint.ErrConflict) {
			if e, ok := errors.AsType[*JournalError](err); ok {
				return nil, &RunExistsError{Run: id, Err: e}
			}
		}
		return nil, startError(err)
	}
	return r, nil
}

// startError is the error of a run that cannot be begun, with the field of the Config that is
// wrong.
func startError(err error) error {
	if c, ok := errors.AsType[*ConfigError](err); ok && c.Field == "Strategy" {
		return &ConfigError{Field: "Root", Err: c.Err}
	}
	return err
}

// newRun makes a run without a record.
func (o *Orchestrator) newRun(ctx context.Context, id string, streams bool) *run {
	r := &run{o: o, id: id, streams: streams, now: time.Now()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.journal = journal{store: o.store, run: id}
	b, ok := o.benches.Get().(*bench)
	if !ok {
		b = new(bench)
	}
	r.bench, r.m, r.inline = b, &b.machine, &b.flight
	r.inline.run, r.inline.inline, r.inline.Context = r, true, r.ctx
	r.m.Reset(o.config(r))
	return r
}

// event returns an event of the root.
func (r *run) event(kind EventKind, detail Detail) Event {
	return Event{Run: r.id, Frame: "0", Depth: 1, Seq: r.m.Seq(), Record: r.m.Records(), Time: r.now, Kind: kind, Detail: detail}
}

// close lets go of the run. Its Machine is used again, unless somebody performs an effect of it.
func (r *run) close() {
	if r.deaf != nil {
		r.deaf() // else the end of ctx costs a goroutine
	}
	r.cancel(nil)
	r.journal.close()
	r.box.close()
	for id := range r.asks {
		r.denyAsked(id, errOver)
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.lent.stop()
	if r.claimed {
		r.o.active.Delete(r.id)
	}
	if b := r.bench; b != nil {
		r.bench, r.m, r.inline = nil, nil, nil
		b.machine.Reset(nil)
		asked := b.flight.request
		if asked != nil {
			*asked = request{}
		}
		b.flight = flight{request: asked}
		r.o.benches.Put(b)
	}
}

// bench is what a run works with that another run can use after it: what is in it is larger than
// all that a step allocates.
type bench struct {
	machine machine.Machine
	flight  flight // on the goroutine of the loop
}

func either[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// version is the version of this library in the program, as its build says; "" if it says nothing.
var version = sync.OnceValue(func() string {
	const path = "github.com/segue-go/segue"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if info.Main.Path == path {
		return info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}
	return ""
})
