package journals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// Reading applies the records of a journal to a Machine. It takes neither the lease nor an epoch: a
// reader of a run disturbs nobody who works on it.
type Reading struct {
	Key     checkpoint.Key
	Store   checkpoint.Store
	Machine *machine.Machine
	Config  *machine.Config // of the Machine

	// Use prepares the Machine for a run, whose strategy may be that of its task.
	Use func(context.Context, *machine.Started) error

	// Damaged returns the error of a record that cannot be read. Record 0 stands for all of them.
	Damaged func(record int, err error) error

	Head  *checkpoint.Head // of a run that is not in the store; nil: it is
	Last  int              // the place of the last record that was applied
	Unfit *Unfit           // the first record that the strategies do not come to; nil: there is none, or a Migrated followed it
}

// Unfit is a record that the strategies of this process do not come to.
type Unfit struct {
	Place  int
	Record machine.Record
	Err    error           // of [machine.Machine.Apply]
	Now    *machine.Effect // the open effect that the strategies come to instead; nil: there is none
}

// Records yields the records of the journal that were not applied yet. It neither decodes nor
// applies them. An error ends it.
func (rd *Reading) Records(ctx context.Context) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		last := rd.Last
		for rec, err := range rd.Store.Read(ctx, rd.Key, last+1) {
			if err != nil {
				yield(checkpoint.Record{}, rd.Damaged(0, err))
				return
			}
			if rec.Seq != last+1 {
				yield(checkpoint.Record{}, rd.Damaged(rec.Seq, Corrupt(fmt.Errorf("it follows record %d", last))))
				return
			}
			last = rec.Seq
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Corrupt marks an error as one of what is stored.
func Corrupt(err error) error { return fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, err) }

// Decode decodes a record.
func (rd *Reading) Decode(stored checkpoint.Record) (machine.Record, error) {
	rec, err := machine.ReadRecord(stored.Data)
	if err != nil {
		if _, other := errors.AsType[*machine.VersionError](err); !other { // a record of no format
			err = Corrupt(err)
		}
		return nil, rd.Damaged(stored.Seq, err)
	}
	if s, ok := rec.(machine.Started); ok && (s.Run != rd.Key.Run || s.Namespace != rd.Key.Namespace) {
		return nil, rd.Damaged(stored.Seq, Corrupt(fmt.Errorf("it begins the run %.64q", checkpoint.Key{Namespace: s.Namespace, Run: s.Run}.String())))
	}
	return rec, nil
}

// Apply applies a record, and returns its events, with the time of the record. The events are valid
// until the next call. Once the strategies do not come to a record, Unfit says so, and Apply skips
// records up to the next Migrated. The error is that of Use.
func (rd *Reading) Apply(ctx context.Context, rec machine.Record) ([]machine.Event, error) {
	if _, ok := rec.(machine.Migrated); !ok && rd.Unfit != nil {
		rd.Last++
		return nil, nil
	}
	if s, ok := rec.(machine.Started); ok {
		if err := rd.Use(ctx, &s); err != nil {
			return nil, err
		}
	}
	err := rd.Machine.Apply(rec)
	if rd.Last++; err != nil {
		rd.Unfit = cmp.Or(rd.Unfit, &Unfit{Place: rd.Last, Record: rec, Err: err, Now: rd.Open()})
		return nil, nil //nolint:nilerr // Unfit keeps it
	}
	rd.Unfit = nil
	events := rd.Machine.Ready().Events
	for i := range events {
		events[i].Time = rd.Machine.Now().Local() // as they were told
	}
	rd.Machine.Advance()
	return events, nil
}

// Err returns the error of the unfit record; nil if there is none.
func (rd *Reading) Err() error {
	if rd.Unfit == nil {
		return nil
	}
	err := rd.Unfit.Cause(rd.Key.Run)
	if IsMisfit(err) {
		return err
	}
	return rd.Damaged(rd.Unfit.Place, err)
}

// Open returns the first effect that is not performed by a person; nil if there is none.
func (rd *Reading) Open() *machine.Effect {
	for _, now := range rd.Machine.Open() {
		if now.Kind != machine.EffectPerson {
			return &now
		}
	}
	return nil
}

// Cause returns why the record does not fit: a [*machine.ReplayError] for a record of a step.
func (u *Unfit) Cause(run string) error {
	was, ok := StepOf(u.Record)
	if !ok || IsMisfit(u.Err) {
		return u.Err
	}
	e := &machine.ReplayError{Run: run, Record: u.Place, Seq: was.Effect.Seq, Recorded: was}
	if u.Now != nil {
		e.Now = StepIDOf(u.Now)
	}
	return e
}

// IsMisfit reports whether an error says that a run does not fit the strategies of this program.
func IsMisfit(err error) bool {
	_, replay := errors.AsType[*machine.ReplayError](err)
	_, snapshot := errors.AsType[*machine.SnapshotError](err)
	return replay || snapshot
}

// StepOf says which effect of a step a record is about; false if it is about none.
func StepOf(rec machine.Record) (machine.StepID, bool) {
	switch r := rec.(type) {
	case machine.Answered:
		return machine.StepID{Effect: r.Effect, Frame: r.Frame, Kind: r.Kind, Tool: r.Tool, Digest: r.Digest}, true
	case machine.Intended:
		return machine.StepID{Effect: r.Effect, Frame: r.Frame, Kind: cmp.Or(r.Kind, machine.EffectTool), Tool: r.Tool, Digest: r.Digest}, true
	default:
		return machine.StepID{}, false
	}
}

// StepIDOf identifies an effect.
func StepIDOf(e *machine.Effect) machine.StepID {
	return machine.StepID{Effect: e.ID, Frame: e.Frame, Kind: e.Kind, Tool: e.Call.Name, Digest: e.Digest}
}
