package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// reading applies the records of a journal to a Machine. It takes neither the lease nor an epoch: a
// reader of a run disturbs nobody who works on it.
type reading struct {
	o    *Orchestrator
	key  checkpoint.Key
	cfg  machine.Config
	m    *machine.Machine
	last int            // the place of the last record that was applied
	end  *machine.Event // the last event of the run, for the end of the journal

	follows bool           // whole is used
	whole   *machine.Event // the snapshot of the reply in the last record, for a follower before the events of the record; nil: there is none

	use     func(context.Context, *machine.Started) error // prepares the Machine for the factory of a task
	factory func() strategy.Strategy                      // where Config.Factory has none; may be nil

	head *checkpoint.Head // of a run that is not in the store; nil: it is

	unfit *unfitRecord // the first record that the strategies do not come to; nil: there is none, or a Migrated followed it
}

// unfitRecord is a record that the strategies of this process do not come to.
type unfitRecord struct {
	place int
	rec   machine.Record
	err   error           // of [machine.Machine.Apply]
	now   *machine.Effect // the open effect that the strategies come to instead; nil: there is none
}

// newReading makes the reading of a run, before its first record.
func (o *Orchestrator) newReading(key checkpoint.Key) (*reading, error) {
	if err := o.checkKey(key); err != nil {
		return nil, err
	}
	rd := &reading{o: o, key: key, cfg: o.full}
	rd.m, rd.use = machine.New(&rd.cfg), rd.useFactory
	return rd, nil
}

// checkKey returns an error if there can be no journal of a run.
func (o *Orchestrator) checkKey(key checkpoint.Key) error {
	if o.cfg.Store == nil {
		return &ConfigError{Field: "Store", Err: errors.New("is nil: there are no journals to read")}
	}
	if key.Check() != nil { // nothing can be kept under it
		return &JournalError{Run: key.Run, Err: &checkpoint.NotFoundError{Key: key}}
	}
	return nil
}

// records yields the records of the journal that were not applied yet, as they are decoded. It does
// not apply them. An error, a [*JournalError], ends it.
func (rd *reading) records(ctx context.Context) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		last := rd.last
		for rec, err := range rd.o.cfg.Store.Read(ctx, rd.key, last+1) {
			if err != nil {
				yield(checkpoint.Record{}, storeError(rd.key, err))
				return
			}
			if rec.Seq != last+1 {
				yield(checkpoint.Record{}, rd.damaged(rec.Seq, corrupt(fmt.Errorf("it follows record %d", last))))
				return
			}
			last = rec.Seq
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// damaged is the error of a record that cannot be read.
func (rd *reading) damaged(record int, err error) error {
	return &JournalError{Run: rd.key.Run, Record: record, Err: err}
}

// decode reads a record.
func (rd *reading) decode(stored checkpoint.Record) (machine.Record, error) {
	rec, err := machine.ReadRecord(stored.Data)
	if err != nil {
		if _, other := errors.AsType[*machine.VersionError](err); !other { // a record of no format
			err = corrupt(err)
		}
		return nil, rd.damaged(stored.Seq, err)
	}
	if s, ok := rec.(machine.Started); ok && (s.Run != rd.key.Run || s.Namespace != rd.key.Namespace) {
		return nil, rd.damaged(stored.Seq, corrupt(fmt.Errorf("it begins the run %.64q", checkpoint.Key{Namespace: s.Namespace, Run: s.Run}.String())))
	}
	return rec, nil
}

// apply applies a record, and returns its events, with the time of the record. The events are valid
// until the next call. Once the strategies do not come to a record, unfit says so, and apply skips
// records up to the next Migrated. The error is a [*FactoryError].
func (rd *reading) apply(ctx context.Context, rec machine.Record) ([]machine.Event, error) {
	if _, ok := rec.(machine.Migrated); !ok && rd.unfit != nil {
		rd.last++
		return nil, nil
	}
	if s, ok := rec.(machine.Started); ok {
		if err := rd.use(ctx, &s); err != nil {
			return nil, err
		}
	}
	err := rd.m.Apply(rec)
	if rd.last++; err != nil {
		rd.unfit = cmp.Or(rd.unfit, &unfitRecord{place: rd.last, rec: rec, err: err, now: rd.open()})
		return nil, nil
	}
	rd.unfit = nil
	events := rd.m.Ready().Events
	for i := range events {
		events[i].Time = rd.m.Now().Local() // as they were told
	}
	rd.m.Advance()
	return events, nil
}

// useFactory prepares for a run whose task has brought its strategy.
func (rd *reading) useFactory(ctx context.Context, s *machine.Started) error {
	if !s.TaskStrategy {
		return nil
	}
	refuse := func(err error) error { return &FactoryError{Run: rd.key.Run, Strategy: s.Strategy, Err: err} }
	var factory func() strategy.Strategy
	if rd.o.cfg.Factory != nil {
		if rd.head == nil {
			head, err := rd.o.headOf(ctx, rd.key)
			if err != nil {
				return err
			}
			rd.head = &head
		}
		factory = rd.o.cfg.Factory(*rd.head)
	}
	if factory == nil {
		factory = rd.factory
	}
	if factory == nil {
		return refuse(errors.New("it was begun with a Task.Factory, and Config.Factory does not know it"))
	}
	if err := rd.o.tryFactory("Config", s.Strategy, factory); err != nil {
		return refuse(err)
	}
	rd.m.Reset(rd.o.withFactory(&rd.cfg, s.Strategy, factory))
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

// storeError returns an error of the store about a run as data.
func storeError(key checkpoint.Key, err error) *JournalError {
	_, data := readError(err)
	return &JournalError{Run: key.Run, Err: data}
}

// misfit returns the error of the unfit record; nil if there is none.
func (rd *reading) misfit() error {
	if rd.unfit == nil {
		return nil
	}
	err := rd.unfit.cause(rd.key.Run)
	if isMisfit(err) {
		return err
	}
	return rd.damaged(rd.unfit.place, err)
}

// cause returns why the record does not fit: a [*machine.ReplayError] for a record of a step.
func (u *unfitRecord) cause(run string) error {
	was, ok := recorded(u.rec)
	if !ok || isMisfit(u.err) {
		return u.err
	}
	e := &machine.ReplayError{Run: run, Record: u.place, Seq: was.Effect.Seq, Recorded: was}
	if u.now != nil {
		e.Now = stepIDOf(u.now)
	}
	return e
}

// open returns the first effect that somebody but a person has to perform; nil if there is none.
func (rd *reading) open() *machine.Effect {
	for _, now := range rd.m.Open() {
		if now.Kind != machine.EffectPerson {
			return &now
		}
	}
	return nil
}

func stepIDOf(e *machine.Effect) machine.StepID {
	return machine.StepID{Effect: e.ID, Frame: e.Frame, Kind: e.Kind, Tool: e.Call.Name, Digest: e.Digest}
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
