package orchestrator

import (
	"context"
	"iter"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// Replay yields the events of a run from its journal: no model is asked, no tool is called, and
// nothing is stored. They are those that the run's Machine told live ([machine.Event].Index is positive),
// with the times of their records; deltas, progress and notices of retries are not kept, so there
// are none. With the last event of a run that has ended comes its error, as data. A run that has
// not ended yields what there is, and ends without RunFinished and without an error.
//
// Of a run that was carried over a change of code, Replay yields nothing of the records before it
// that the strategies of this process do not come to: RunMigrated says how many they are.
//
// A journal that cannot be read is a [*JournalError], a run that the strategies of this process do
// not come to a [*machine.ReplayError] or a [*machine.SnapshotError], and one that was begun with a [Task].Factory
// that [Config].Factory does not know a [*FactoryError]. Whoever works on the run is not disturbed.
func (o *Orchestrator) Replay(ctx context.Context, key checkpoint.Key) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		rd, err := o.newReading(key)
		if err != nil {
			yield(machine.Event{}, err)
			return
		}
		rd.tell(ctx, yield)
	}
}

// tell applies the records that were not applied yet, and yields what they tell, until whoever
// listens wants no more, or there is an error.
func (rd *reading) tell(ctx context.Context, yield func(machine.Event, error) bool) {
	for stored, err := range rd.records(ctx) {
		var events []machine.Event
		if err == nil {
			events, err = rd.read(ctx, stored)
		}
		if err != nil {
			yield(machine.Event{}, err)
			return
		}
		for _, e := range events {
			if e.Kind == machine.EventRunFinished {
				rd.end = &e
			} else if !yield(e, nil) {
				return
			}
		}
	}
	if err := rd.misfit(); err != nil {
		yield(machine.Event{}, err)
		return
	}
	if end := rd.end; end != nil {
		rd.end = nil
		yield(*end, causes(nil).outcome(rd.m.Output().Err))
	}
}

// read decodes and applies a record.
func (rd *reading) read(ctx context.Context, stored checkpoint.Record) ([]machine.Event, error) {
	rec, err := rd.decode(stored)
	if err != nil {
		return nil, err
	}
	if rd.follows {
		rd.whole = rd.wholeReply(rec)
	}
	return rd.apply(ctx, rec)
}
