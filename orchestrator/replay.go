package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/internal/journals"
	"github.com/segue-go/segue/strategy"
)

// Replay yields the events of a run from its journal: no model is asked, no tool is called, and
// nothing is stored. They are those that the run's Machine told live ([machine.Event].Index is
// positive), with the times of their records; deltas, progress and notices of retries are not kept,
// so there are none. With the last event of a run that has ended comes its error, as data. A run
// that has not ended yields what there is, and ends without RunFinished and without an error.
//
// Of a run that was carried over a change of code, Replay yields nothing of the records before it
// that the strategies of this process do not come to: RunMigrated says how many they are.
//
// A journal that cannot be read is a [*JournalError], a run that the strategies of this process do
// not come to a [*machine.ReplayError] or a [*machine.SnapshotError], and one that was begun with a
// [Task].Factory that [Config].Factory does not know a [*FactoryError]. Whoever works on the run is
// not disturbed.
func (o *Orchestrator) Replay(ctx context.Context, key checkpoint.Key) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		rd, err := o.newReading(key, nil)
		if err != nil {
			yield(machine.Event{}, err)
			return
		}
		t := telling{Reading: rd}
		t.tell(ctx, yield)
	}
}

// telling tells the events of a journal.
type telling struct {
	*journals.Reading
	end *machine.Event // the last event of the run, for the end of the journal

	follows bool           // whole is used
	whole   *machine.Event // the snapshot of the reply in the last record, for a follower before the events of the record; nil: there is none
}

// tell applies the records that were not applied yet, and yields what they tell, until whoever
// listens wants no more, or there is an error.
func (t *telling) tell(ctx context.Context, yield func(machine.Event, error) bool) {
	for stored, err := range t.Records(ctx) {
		var events []machine.Event
		if err == nil {
			events, err = t.read(ctx, stored)
		}
		if err != nil {
			yield(machine.Event{}, err)
			return
		}
		for _, e := range events {
			if e.Kind == machine.EventRunFinished {
				t.end = &e
			} else if !yield(e, nil) {
				return
			}
		}
	}
	if err := t.Err(); err != nil {
		yield(machine.Event{}, err)
		return
	}
	if end := t.end; end != nil {
		t.end = nil
		yield(*end, causes(nil).outcome(t.Machine.Output().Err))
	}
}

// read decodes and applies a record.
func (t *telling) read(ctx context.Context, stored checkpoint.Record) ([]machine.Event, error) {
	rec, err := t.Decode(stored)
	if err != nil {
		return nil, err
	}
	if t.follows {
		t.whole = wholeReply(t.Machine, rec)
	}
	return t.Apply(ctx, rec)
}

// Journals is what package runs uses of an Orchestrator.
func (o *Orchestrator) Journals() journals.Access {
	access := journals.Access{
		Read:  func(key checkpoint.Key) (*journals.Reading, error) { return o.newReading(key, nil) },
		Heads: o.heads, Values: o.keptValues, Takes: o.takesValues, Store: o.adoptRun,
	}
	if o.cfg.Redact != nil {
		access.Redact = o.redact
	}
	return access
}

// newReading begins to read a run before its first record. The factory is for a task where
// Config.Factory has none; it may be nil.
func (o *Orchestrator) newReading(key checkpoint.Key, factory func() strategy.Strategy) (*journals.Reading, error) {
	if err := o.checkKey(key); err != nil {
		return nil, err
	}
	cfg := o.full
	rd := &journals.Reading{Key: key, Store: o.cfg.Store, Machine: machine.New(&cfg), Config: &cfg, Damaged: damaged(key)}
	rd.Use = func(ctx context.Context, s *machine.Started) error {
		if !s.TaskStrategy {
			return nil
		}
		return o.useFactory(ctx, rd, s, factory)
	}
	return rd, nil
}

// checkKey returns an error if there can be no journal of a run.
func (o *Orchestrator) checkKey(key checkpoint.Key) error {
	if o.cfg.Store == nil {
		return &ConfigError{Field: "Store", Err: errors.New("is nil: there are no journals to read")}
	}
	if key.Check() != nil { // nothing can be kept under it
		return &JournalError{Run: key.Run, Err: &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}}
	}
	return nil
}

// damaged returns a function that makes the errors of a journal. An error that is about no record
// may be one of the store.
func damaged(key checkpoint.Key) func(record int, err error) error {
	return func(record int, err error) error {
		if record == 0 {
			return storeError(key, err)
		}
		return &JournalError{Run: key.Run, Record: record, Err: err}
	}
}

// storeError returns an error of the store about a run as data.
func storeError(key checkpoint.Key, err error) *JournalError {
	_, data := readError(err)
	return &JournalError{Run: key.Run, Err: data}
}

// useFactory prepares for a run whose task has brought its strategy.
func (o *Orchestrator) useFactory(ctx context.Context, rd *journals.Reading, s *machine.Started, own func() strategy.Strategy) error {
	refuse := func(err error) error { return &FactoryError{Run: rd.Key.Run, Strategy: s.Strategy, Err: err} }
	var factory func() strategy.Strategy
	if o.cfg.Factory != nil {
		if rd.Head == nil {
			head, err := o.headOf(ctx, rd.Key)
			if err != nil {
				return err
			}
			rd.Head = &head
		}
		factory = o.cfg.Factory(*rd.Head)
	}
	if factory == nil {
		factory = own
	}
	if factory == nil {
		return refuse(errors.New("it was begun with a Task.Factory, and Config.Factory does not know it"))
	}
	if err := o.tryFactory("Config", s.Strategy, factory); err != nil {
		return refuse(err)
	}
	rd.Machine.Reset(o.withFactory(rd.Config, s.Strategy, factory))
	return nil
}

// Head returns how a run stands, as the store says: its status, what it waits for, who works on it.
// An error is a [*JournalError], which wraps checkpoint.ErrNotFound if there is no such run, or a
// [*ConfigError] if there is no store.
func (o *Orchestrator) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	if err := o.checkKey(key); err != nil {
		return checkpoint.Head{}, err
	}
	return o.headOf(ctx, key)
}

// headOf is Head of an Orchestrator that has a store.
func (o *Orchestrator) headOf(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	head, err := o.cfg.Store.Head(ctx, key)
	if err != nil {
		return head, storeError(key, err)
	}
	return head, nil
}

// lister returns the ability of the store to list runs.
func (o *Orchestrator) lister() (checkpoint.Lister, error) {
	lister, ok := checkpoint.As[checkpoint.Lister](o.cfg.Store)
	if !ok {
		return nil, &ConfigError{Field: "Store", Err: errors.New("is no checkpoint.Lister: it cannot say which runs there are")}
	}
	return lister, nil
}

// heads yields the heads of all runs that a query asks for, page by page. The error comes last,
// also that of damaged heads.
func (o *Orchestrator) heads(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Head, error] {
	return func(yield func(checkpoint.Head, error) bool) {
		lister, err := o.lister()
		if err != nil {
			yield(checkpoint.Head{}, err)
			return
		}
		for head, err := range checkpoint.Heads(ctx, lister, q) {
			if err != nil {
				_, data := readError(err)
				err = fmt.Errorf("orchestrator: the runs cannot be listed: %w", data)
			}
			if !yield(head, err) {
				return
			}
		}
	}
}
