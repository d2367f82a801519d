package orchestrator

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
)

// run is one run in progress: a Machine, and its effects in progress.
type run struct {
	o         *Orchestrator
	m         *machine.Machine
	id        string
	ctx       context.Context
	cancel    context.CancelCauseFunc
	detach    func() bool     // stops the end of ctx from signaling the loop; nil: it does not yet
	stop      <-chan struct{} // nil: the run has no Stop, or it was closed
	notes     <-chan string   // nil: the run has none, or it was closed
	unapplied []string        // notes that were read, and not applied yet
	ending    stopping
	streams   bool
	consumer  consumer
	progress  progress
	now       time.Time // time of the last record, or later

	box        mailbox
	executions []*execution // effects in progress
	applied    bool         // a record was applied since the last round
	graced     bool         // they have their grace period after a stop
	alone      *execution   // the one that the loop performs; nil: it performs none
	asking     *asking      // how the loop asks the client
	byLoop     execution    // the executions that the loop performs, one after another
	timer      *time.Timer
	nextLook   time.Time // when the timer fires; zero: it is not set
	agents     []agentDeadline
	questions  map[string][]*question // questions by the id of their wait

	journal     *journal // nil without a Store
	claimed     bool
	replays     bool            // the journal is being read
	drifted     []machine.Event // events from reading the journal, to be emitted
	migrated    []machine.Event // events of a Migrated that this process made, to be emitted
	causes      causes
	large       large
	redaction   *redaction      // nil without Config.Redact
	observation *Observation    // nil without Config.Observe
	discards    bool            // results that arrive now are dropped
	refused     []error         // rejected replies of Config.Reply to other waits
	replied     map[string]bool // waits whose replies came with the Resumption
}

// stopping says how the run was asked to stop.
type stopping uint8

const (
	goesOn stopping = iota
	stopsAfter
	stopsNow
)

// begin makes the run of a task.
func (o *Orchestrator) begin(ctx context.Context, task *Task, streams bool) (*run, error) {
	if task.Session != "" {
		next := *task
		if err := o.continueSession(ctx, &next); err != nil {
			return nil, err
		}
		task = &next
	}
	id := task.Run
	if id == "" {
		made, err := uuid.NewV7()
		if err != nil {
			return nil, &ConfigError{Field: "Task.Run", Err: err}
		}
		id = made.String()
	} else if err := (checkpoint.Key{Run: id}).Check(); err != nil {
		return nil, &ConfigError{Field: "Task.Run", Err: err}
	}
	key := checkpoint.Key{Namespace: task.Namespace, Run: id}
	if err := key.Check(); err != nil {
		return nil, &ConfigError{Field: "Task.Namespace", Err: err}
	}
	r := o.newRun(ctx, key, streams)
	if r.journal != nil {
		r.journal.epoch = 1
	}
	r.stop, r.notes = task.Stop, task.Notes
	if err := r.applyStarted(task); err != nil {
		r.close()
		if errors.Is(err, checkpoint.ErrConflict) {
			if e, ok := errors.AsType[*JournalError](err); ok {
				return nil, &RunExistsError{Run: id, Err: e}
			}
		}
		return nil, o.startError(err)
	}
	r.carryOn(task)
	return r, nil
}

// applyStarted applies and stores the first record of a run.
func (r *run) applyStarted(task *Task) error {
	s, err := r.o.started(task)
	if err != nil {
		return err
	}
	cfg := r.o.config(r)
	if task.Factory != nil {
		cfg = r.o.withFactory(cfg, s.Strategy, task.Factory)
		r.m.Reset(cfg)
	}
	if err := r.claim(); err != nil {
		return err
	}
	s.At, s.Run = r.now, r.id
	if err := r.apply(cfg.Start(s)); err != nil {
		return err
	}
	if err := r.store(); err != nil {
		return err
	}
	if r.journal != nil {
		r.journal.inbox.ready.Store(true)
	}
	return nil
}

// newRun makes a run without records.
func (o *Orchestrator) newRun(ctx context.Context, key checkpoint.Key, streams bool) *run {
	r := &run{o: o, id: key.Run, streams: streams, now: time.Now(), m: new(machine.Machine)}
	r.ctx, r.cancel = context.WithCancelCause(r.beginObservation(ctx, key))
	if o.cfg.Store != nil {
		r.journal = &journal{store: o.cfg.Store, key: key, run: key.Run, patience: o.cfg.Timeouts.Store}
		if o.leaser != nil {
			r.journal.lease.time = o.cfg.Lease
		}
	}
	r.m.Reset(o.config(r))
	return r
}

// finished returns the last event of a run that the Machine does not tell itself.
func (r *run) finished(status machine.Status, out delegation.Output) machine.Event {
	return machine.Event{
		Run: r.id, Frame: "0", Depth: 1, Seq: r.m.Seq(), Record: r.m.Records(), Time: r.now, Kind: machine.EventRunFinished,
		Detail: r.m.Finished(status, out),
	}
}

// close releases the run.
func (r *run) close() {
	r.endObservation()
	if r.detach != nil {
		r.detach() // otherwise the end of ctx costs a goroutine
	}
	if r.claimed {
		r.release()
		r.o.keeper.remove(r)
	}
	r.cancel(nil)
	r.journal.close()
	r.box.close()
	for id := range r.questions {
		r.denyQuestions(id, errOver)
	}
	if r.timer != nil {
		r.timer.Stop()
	}
}

// version returns the version of this library from the build information; "" if there is none.
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
