package orchestrator

import (
	"context"
	"iter"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/internal/journals"
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
