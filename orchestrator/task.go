package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Task describes one run. Usually only Input is needed. The other fields are for programs that make
// different runs with one Orchestrator, such as a web server. The Orchestrator keeps no map, slice
// or pointer of a Task.
type Task struct {
	Strategy string            // name in Config.Strategies; "" means that which answered in the Session last, or Config.Default
	Input    delegation.Input  // the goal, the messages or the data
	Run      string            // the run's id, see checkpoint.Key.Check; "" makes a new id
	Limits   delegation.Limits // limits of the run; zero fields mean those of the Config
	Stop     <-chan struct{}   // close it to stop the run after the step in progress; cancel the context to stop it now

	// Notes are texts for the run while it is at work, such as what a user says meanwhile. Each is
	// journaled and told like a note of [Orchestrator.Note], which says who hears it. They are read
	// as long as this process works on the run; what was not read when the run ends, waits or is
	// left stays in the channel. An empty note, and one of more than [machine.MaxNote] bytes, is
	// refused and logged. Close the channel if no more come. Nil: there are none.
	Notes <-chan string

	// Factory makes the task's own strategy, like a factory in Config.Strategies. The run begins
	// with this strategy. Its name in the run is Strategy, or "task" if Strategy is ""; the name
	// must not be in Config.Strategies or Config.Remote. Other strategies can delegate to it, and
	// it can delegate to them. With a Store, pass the same Factory to [Orchestrator.Resume].
	Factory func() strategy.Strategy

	// Tools lists the names of the tools in Config.Tools that the run, with its children and
	// agents, may use. Nil means all of them, an empty slice none. A strategy may always use the
	// tools that it brings itself.
	Tools []string

	// Model and Temperature apply to every request of the run, also in children and agents, that
	// does not set its own. "" and nil change nothing.
	Model       string
	Temperature *float64

	Metadata  map[string]string // any data; it is in the events RunStarted and RunResumed, and in the journal
	Labels    map[string]string // stored in the journal, to find runs
	Namespace string            // stored in the journal: the tenant of the run

	// Session names the conversation that the run continues, in its namespace. The run begins with
	// the messages of the last run of the session, unless Input has messages. "" means none. The
	// run gets the labels [LabelSession] and [LabelTurn], and the id "session.turn" unless Run is
	// set: if two processes start the same turn, one of them gets a [*RunExistsError]. So does who
	// starts a turn while the last run of the session is in progress, or without leases while its
	// head says that it is running. A session requires a Config.Store that is a
	// [checkpoint.Lister]. See [Orchestrator.History].
	//
	// Once the last turns of a session are deleted, as by checkpoint.Forget, their ids are used
	// again. The calls of the new runs have other idempotency keys nevertheless.
	Session string

	// TakeOver begins the turn of the Session although the last run is in progress in another
	// process, or was when that died: that process is fenced off as by [Resumption].TakeOver, and
	// the run is parked.
	TakeOver bool

	continues string // the run of the session before this one; "": there is none
	nonce     string // of a run whose id is used again once it is deleted
}

// taskStrategy is the default name of a task's own strategy.
const taskStrategy = "task"

// FactoryError reports that a run cannot be resumed with the given [Resumption].Factory: the
// Factory is missing, or the run needs none, or its strategy is invalid or has another table. The
// run is unchanged.
type FactoryError struct {
	Run      string
	Strategy string // the name of the run's strategy
	Err      error  // the reason, such as a [*ConfigError]
}

// Error names the run and the strategy.
func (e *FactoryError) Error() string {
	return fmt.Sprintf("orchestrator: run %.64q of the strategy %.64q cannot be resumed: %s", e.Run, e.Strategy, guard.Bare(e.Err))
}

// Unwrap returns the cause.
func (e *FactoryError) Unwrap() error { return e.Err }

// started returns the first record of the run of a task. Errors are joined [*ConfigError] values.
func (o *Orchestrator) started(task *Task) (machine.Started, error) {
	s := machine.Started{
		Strategy: cmp.Or(task.Strategy, o.cfg.Default), Input: task.Input, Limits: task.Limits, Library: version(),
		Model: task.Model, Metadata: task.Metadata, Labels: task.Labels, Namespace: task.Namespace, Nonce: task.nonce, Conclude: true, Repeats: cmp.Or(o.cfg.Repeats, machine.DefaultRepeats),
	}
	if task.continues != "" {
		s.Origin = &machine.Origin{Run: task.continues}
	}
	defs, err := o.toolsNamed(task.Tools)
	problems := []error{configErrors("Task.Tools", err)}
	if s.Tools = defs; task.Factory != nil {
		s.Strategy, s.TaskStrategy = cmp.Or(task.Strategy, taskStrategy), true
		problems = append(problems, o.tryFactory("Task", s.Strategy, task.Factory))
	}
	if t := task.Temperature; t != nil {
		if math.IsNaN(*t) || math.IsInf(*t, 0) {
			problems = append(problems, &ConfigError{Field: "Task.Temperature", Err: fmt.Errorf("is %v, which is not a valid temperature", *t)})
		}
		s.Temperature = new(*t)
	}
	return s, errors.Join(problems...)
}

// toolsNamed returns the definitions of the named tools of the Config; nil names mean all.
func (o *Orchestrator) toolsNamed(names []string) ([]tools.Definition, error) {
	if names == nil {
		return nil, nil
	}
	known, chosen := o.full.Tools, []tools.Definition{}
	for _, d := range known {
		if slices.Contains(names, d.Name) {
			chosen = append(chosen, d)
		}
	}
	var problems []error
	for _, name := range names {
		if !slices.ContainsFunc(known, func(d tools.Definition) bool { return d.Name == name }) {
			problems = append(problems, fmt.Errorf("there is no tool %.64q in Config.Tools; they are %q", name, namesOf(known)))
		}
	}
	return chosen, errors.Join(problems...)
}

// tryFactory returns an error if the strategy of a factory cannot run under that name. Of is the
// struct that holds the factory.
func (o *Orchestrator) tryFactory(of, name string, factory func() strategy.Strategy) error {
	if _, taken := o.cfg.Strategies[name]; taken {
		return &ConfigError{Field: "Task.Strategy", Err: fmt.Errorf("%.64q is a name in Config.Strategies, and Factory needs one of its own", name)}
	}
	if _, taken := o.cfg.Remote[name]; taken {
		return &ConfigError{Field: "Task.Strategy", Err: fmt.Errorf("%.64q is a name in Config.Remote, and Factory needs one of its own", name)}
	}
	if factory == nil {
		return &ConfigError{Field: of + ".Factory", Err: errors.New("is nil: give it the function that makes the strategy")}
	}
	cfg := o.cfg
	cfg.Strategies = maps.Clone(cfg.Strategies)
	cfg.Strategies[name] = factory
	c := check{cfg: &cfg, field: of + ".Factory", tools: o.tools}
	c.strategy(name)
	return errors.Join(c.problems...)
}

// withFactory returns a Config for the Machine of a run whose task brings a strategy.
func (o *Orchestrator) withFactory(cfg *machine.Config, name string, factory func() strategy.Strategy) *machine.Config {
	own := *cfg
	own.Strategies = maps.Clone(cfg.Strategies)
	own.Strategies[name] = factory
	if own.Durable {
		own.Fingerprints = maps.Clone(cfg.Fingerprints)
		if sum := machine.Fingerprint(own.Strategies, name); sum != "" {
			own.Fingerprints[name] = sum
		}
	}
	return &own
}

// useFactory prepares a resumed run: it sets the factory of the task's own strategy, if the first
// record says that there was one.
func (r *run) useFactory(s *machine.Started, factory func() strategy.Strategy) error {
	refuse := func(err error) error { return &FactoryError{Run: r.id, Strategy: s.Strategy, Err: err} }
	switch {
	case !s.TaskStrategy && factory == nil:
		return nil
	case !s.TaskStrategy:
		return refuse(errors.New("it was begun without a Task.Factory: leave Resumption.Factory out"))
	case factory == nil:
		return refuse(errors.New("it was begun with a Task.Factory: give the same one as Resumption.Factory"))
	}
	if err := r.o.tryFactory("Resumption", s.Strategy, factory); err != nil {
		return refuse(err)
	}
	cfg := r.o.withFactory(r.o.config(r), s.Strategy, factory)
	if was, now := s.Fingerprints[s.Strategy], cfg.Fingerprints[s.Strategy]; was != now {
		return refuse(errors.New("the strategy of Resumption.Factory has another table than that of Task.Factory"))
	}
	r.m.Reset(cfg)
	return nil
}

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
	executions map[machine.EffectID]*execution // effects in progress
	applied    bool                            // a record was applied since the last round
	graced     bool                            // they have their grace period after a stop
	alone      *execution                      // the one that the loop performs; nil: it performs none
	asking     *asking                         // how the loop asks the client
	byLoop     execution                       // the executions that the loop performs, one after another
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
	large       *large
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

// begin makes the run of a task. Driven says that another engine drives it.
func (o *Orchestrator) begin(ctx context.Context, task *Task, streams, driven bool) (*run, error) {
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
	r := o.newRun(ctx, key, streams, driven)
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
	store := r.store
	if r.journal != nil && r.journal.driven { // no other process may find it without the intents that follow
		store = r.commit
	}
	if err := store(); err != nil {
		return err
	}
	if r.journal != nil {
		r.journal.inbox.ready.Store(true)
	}
	return nil
}

// newRun makes a run without records. Driven says that another engine drives it.
func (o *Orchestrator) newRun(ctx context.Context, key checkpoint.Key, streams, driven bool) *run {
	r := &run{o: o, id: key.Run, streams: streams, now: time.Now(), m: new(machine.Machine), large: new(large)}
	if !driven {
		ctx = r.beginObservation(ctx, key)
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if o.cfg.Store != nil {
		r.journal = &journal{store: o.cfg.Store, key: key, run: key.Run, patience: o.cfg.Timeouts.Store, driven: driven}
		if o.leaser != nil && !driven {
			r.journal.lease.time = o.cfg.Lease
		}
	}
	if o.cfg.Redact != nil {
		r.redaction = new(redaction)
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
