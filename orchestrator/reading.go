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

// reading is a run that somebody reads from its journal and does not go on with. It takes nothing:
// neither the lease nor an epoch, so whoever works on the run is not disturbed.
type reading struct {
	o    *Orchestrator
	key  checkpoint.Key
	cfg  machine.Config
	m    *machine.Machine
	last int            // the place of the last record that was applied
	end  *machine.Event // the last event, to be told once the journal was read to its end

	follows bool           // whole is used
	whole   *machine.Event // the snapshot of the reply that the last record holds, to be told before its events; nil: none

	factory func() strategy.Strategy // where Config.Factory has none; may be nil

	head *checkpoint.Head // of a run that is not in the store; nil: it is

	unfit *unfitRecord // the first record that the run does not come to; nil: it comes to all, or was carried over a change of code since
}

// unfitRecord is a record that the run, as it is now, does not come to.
type unfitRecord struct {
	place int
	rec   machine.Record
	err   error // of [machine.Machine.Apply]
	now   *machine.Effect
}

// newReading makes the reading of a run, before its first record.
func (o *Orchestrator) newReading(key checkpoint.Key) (*reading, error) {
	if o.cfg.Store == nil {
		return nil, &ConfigError{Field: "Store", Err: errors.New("is nil: there are no journals to read")}
	}
	if key.Check() != nil { // nothing can be kept under it
		return nil, &JournalError{Run: key.Run, Err: &checkpoint.NotFoundError{Key: key}}
	}
	rd := &reading{o: o, key: key, cfg: o.full}
	rd.m = machine.New(&rd.cfg)
	return rd, nil
}

// records yields the records of the journal that were not applied yet, as they are decoded. It does
// not apply them. An error, a [*JournalError], ends it.
func (rd *reading) records(ctx context.Context) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		last := rd.last
		for rec, err := range rd.o.cfg.Store.Read(ctx, rd.key, last+1) {
			if err != nil {
				_, data := readError(err)
				yield(checkpoint.Record{}, &JournalError{Run: rd.key.Run, Err: data})
				return
			}
			if rec.Seq != last+1 {
				yield(checkpoint.Record{}, rd.damaged(rec.Seq, corrupt(fmt.Errorf("it stands behind record %d", last))))
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
	rec, err := readRecord(stored.Data)
	if err != nil {
		return nil, rd.damaged(stored.Seq, err)
	}
	if s, ok := rec.(machine.Started); ok && (s.Run != rd.key.Run || s.Namespace != rd.key.Namespace) {
		return nil, rd.damaged(stored.Seq, corrupt(fmt.Errorf("it begins the run %.64q", checkpoint.Key{Namespace: s.Namespace, Run: s.Run}.String())))
	}
	return rec, nil
}

// apply makes a record part of the run as it is read, and returns what it tells, with the time of
// the record. The events are valid until the next. If the run does not come to the record, that is
// noted in unfit, and records are left out until one carries the run over a change of code. The
// error is a [*FactoryError].
func (rd *reading) apply(ctx context.Context, rec machine.Record) ([]machine.Event, error) {
	if _, ok := rec.(machine.Migrated); !ok && rd.unfit != nil {
		rd.last++
		return nil, nil
	}
	if s, ok := rec.(machine.Started); ok && s.TaskStrategy {
		if err := rd.useFactory(ctx, &s); err != nil {
			return nil, err
		}
	}
	if rd.unfit = rd.applies(rec); rd.unfit != nil {
		return nil, nil
	}
	events := rd.m.Ready().Events
	for i := range events {
		events[i].Time = rd.m.Now().Local() // as they were told
	}
	rd.m.Advance()
	return events, nil
}

// applies applies a record. It returns the first record that the run does not come to; nil if it
// comes to this one.
func (rd *reading) applies(rec machine.Record) *unfitRecord {
	err := rd.m.Apply(rec)
	if rd.last++; err == nil {
		return nil
	}
	return cmp.Or(rd.unfit, &unfitRecord{place: rd.last, rec: rec, err: err, now: rd.open()})
}

// useFactory prepares for a run whose task has brought its strategy.
func (rd *reading) useFactory(ctx context.Context, s *machine.Started) error {
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
	if _, err := o.newReading(key); err != nil {
		return checkpoint.Head{}, err
	}
	return o.headOf(ctx, key)
}

// headOf is Head of an Orchestrator that has a store.
func (o *Orchestrator) headOf(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	head, err := o.cfg.Store.Head(ctx, key)
	if err != nil {
		_, data := readError(err)
		return head, &JournalError{Run: key.Run, Err: data}
	}
	return head, nil
}

// misfit is the error of a reading whose last records the run, as it is now, does not come to; nil
// if it comes to them.
func (rd *reading) misfit() error {
	u := rd.unfit
	if u == nil {
		return nil
	}
	if isMisfit(u.err) {
		return u.err
	}
	was, ok := recorded(u.rec)
	if !ok {
		return rd.damaged(u.place, u.err)
	}
	e := &machine.ReplayError{Run: rd.key.Run, Record: u.place, Seq: was.Effect.Seq, Recorded: was}
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
