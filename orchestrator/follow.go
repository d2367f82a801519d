package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// Position is a place in the events of a run: behind the event of that Record and Index. The zero
// Position is before the first. It stays the same in every process that reads the run.
type Position struct {
	Record int
	Index  int
}

// PositionOf returns the place behind an event. An event that the Machine does not know of, such as
// a delta, has the Index 0: its place is before the events of its record.
func PositionOf(e Event) Position { return Position{Record: e.Record, Index: e.Index} }

// String returns "record/index".
func (p Position) String() string { return strconv.Itoa(p.Record) + "/" + strconv.Itoa(p.Index) }

// MarshalText returns the text of the position.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (p *Position) UnmarshalText(text []byte) error {
	record, index, ok := strings.Cut(string(text), "/")
	r, err := strconv.Atoi(record)
	i, wrong := strconv.Atoi(index)
	if err = errors.Join(err, wrong); err != nil || !ok || r < 0 || i < 0 {
		return fmt.Errorf("orchestrator: %.64q is no position in a run: it is \"record/index\"", text)
	}
	p.Record, p.Index = r, i
	return nil
}

// before reports whether an event stands behind the position.
func (p Position) before(e *Event) bool {
	return e.Record > p.Record || e.Record == p.Record && e.Index > p.Index
}

// Follow yields the events of a run from its journal, those behind a position, and then what
// happens until the run ends, whoever works on it. It reads along and changes nothing: any number
// of processes may follow a run, and one that follows neither slows nor stops it.
//
// Events are told once they are stored, each once and in order, however slowly they are taken: what
// was not taken yet stands in the journal. Of a run in progress in this Orchestrator they come at
// once, and with them the deltas, the progress and the notices of retries of the steps in progress,
// as far as somebody streams the run and the follower is not far behind: those are kept nowhere. A
// run that another process works on is looked at every Config.InboxEvery (every second where that
// is negative).
//
// The last event is RunFinished, with the error of the run, as in [Orchestrator.Stream]; there is
// none if it stands before the position. A run that waits has not ended: its WaitStarted events say
// what for, and Follow waits with it, as it does for a run whose process has died until somebody
// goes on with it. End it by ctx, whose cause is the error then, or by breaking out.
//
// Errors end it. They are those of [Orchestrator.Replay]; a store that fails is tried again for
// Config.Timeouts.Store.
func (o *Orchestrator) Follow(ctx context.Context, key checkpoint.Key, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		rd, err := o.newReading(key)
		if err != nil {
			yield(Event{}, err)
			return
		}
		f := following{rd: rd, after: after, yield: yield, taken: map[string]int{}}
		hears := o.followers.add(key)
		defer o.followers.remove(key, hears)
		f.run(ctx, hears)
	}
}

// following is a Follow in progress.
type following struct {
	rd      *reading
	after   Position
	yield   func(Event, error) bool
	taken   map[string]int // the last step of each frame that has its answer
	failing time.Time      // since when the store fails; zero: it does not
	gone    bool           // whoever listened wants no more
}

func (f *following) run(ctx context.Context, hears *follower) {
	every := f.rd.o.cfg.InboxEvery
	if every <= 0 {
		every = time.Second
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	for f.catchUp(ctx) {
		timer.Reset(every)
		select {
		case <-ctx.Done():
			f.yield(Event{}, causeOfContext(ctx))
			return
		case <-timer.C:
		case <-hears.ready:
			if !f.tellPassing(ctx, hears.take()) {
				return
			}
		}
	}
}

// catchUp tells what the journal holds by now. It returns false if that is all there will be.
func (f *following) catchUp(ctx context.Context) bool {
	failed := error(nil)
	f.rd.tell(ctx, func(e Event, err error) bool {
		if e.Kind == "" {
			failed = err
			return false
		}
		if e.Kind == EventStepTaken {
			f.taken[e.Frame] = e.Seq
		}
		if f.after.before(&e) {
			f.gone = !f.yield(e, err)
		}
		return !f.gone
	})
	switch {
	case f.gone || f.rd.m.Done() && failed == nil:
		return false
	case failed == nil:
		f.failing = time.Time{}
		return true
	case f.isPassing(ctx, failed):
		return true
	case ctx.Err() != nil:
		failed = causeOfContext(ctx)
	}
	f.yield(Event{}, failed)
	return false
}

// isPassing reports whether a store that fails is to be tried again.
func (f *following) isPassing(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*JournalError](err)
	if !ok || e.Record > 0 || ctx.Err() != nil || errors.Is(err, checkpoint.ErrNotFound) {
		return false
	}
	now := time.Now()
	if f.failing.IsZero() {
		f.failing = now
	}
	return now.Sub(f.failing) < f.rd.o.cfg.Timeouts.Store
}

// tellPassing tells what is kept nowhere, unless its step has its answer already. It returns false
// if the following is over.
func (f *following) tellPassing(ctx context.Context, passing []Event) bool {
	for i := range passing {
		e := &passing[i]
		if e.Record > f.rd.last && !f.catchUp(ctx) {
			return false
		}
		if e.Record > f.rd.last || e.Seq <= f.taken[e.Frame] {
			continue
		}
		if f.gone = !f.yield(*e, nil); f.gone {
			return false
		}
	}
	return true
}
