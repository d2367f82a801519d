package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// Position is a place in the events of a run: behind the event of that Record and Index. The zero
// Position is before the first. It stays the same in every process that reads the run.
type Position struct {
	Record int
	Index  int
}

// PositionOf returns the place behind an event. An event that the Machine does not know of, such as
// a delta, has the Index 0: its place is before the events of its record.
func PositionOf(e machine.Event) Position { return Position{Record: e.Record, Index: e.Index} }

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
func (p Position) before(e *machine.Event) bool {
	return e.Record > p.Record || e.Record == p.Record && e.Index > p.Index
}

// Follow yields the events of a run from its journal, those behind a position, and then what
// happens until the run ends, whoever works on it. It reads along and changes nothing: any number
// of processes may follow a run, and one that follows neither slows nor stops it.
//
// Events are told once they are stored, each once and in order, however slowly they are taken: what
// was not taken yet stands in the journal. Of a run in progress in this Orchestrator they come at
// once, and with them the deltas, the progress and the notices of retries of the steps in progress,
// as far as somebody streams the run; a follower that is more than 1,024 of them behind misses
// progress and notices. A run that another process works on is looked at every Config.InboxEvery
// (every second where that is negative).
//
// The last event is RunFinished, with the error of the run, as in [Orchestrator.Stream]; there is
// none if it stands before the position. A run that waits has not ended: its WaitStarted events say
// what for, and Follow waits with it, as it does for a run whose process has died until somebody
// goes on with it. End it by ctx, whose cause is the error then, or by breaking out.
//
// Deltas are kept nowhere, so a follower may come or be too late for some of them. A
// [machine.StepSnapshot] replaces what the follower has of the reply: the deltas so far of a step
// in progress, followed by the rest of them; or, before the events of the record that holds a
// reply, its whole text, if the follower was told another. A snapshot says that the text comes
// Later where no deltas of a step can be had: another process works on the run, the run is not
// streamed, or the reply is longer than 1 MiB.
//
// Errors end it. They are those of [Orchestrator.Replay]; a store that fails is tried again for
// Config.Timeouts.Store.
func (o *Orchestrator) Follow(ctx context.Context, key checkpoint.Key, after Position) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		rd, err := o.newReading(key, nil)
		if err != nil {
			yield(machine.Event{}, err)
			return
		}
		f := following{o: o, rd: telling{Reading: rd, follows: true}, after: after, yield: yield, hears: o.followers.add(key), heard: map[string]*replySoFar{}}
		defer o.followers.remove(key, f.hears)
		f.run(ctx)
	}
}

// following is a Follow in progress.
type following struct {
	o       *Orchestrator
	rd      telling
	after   Position
	yield   func(machine.Event, error) bool
	hears   *follower
	passing []machine.Event        // what it heard and has not told
	heard   map[string]*replySoFar // what it has told, by frame
	failing time.Time              // since when the store fails; zero: it does not
	gone    bool                   // whoever listened wants no more
}

func (f *following) run(ctx context.Context) {
	every := f.o.cfg.InboxEvery
	if every <= 0 {
		every = time.Second
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		here := f.o.tellsDeltas(f.rd.Key) // before the journal is read: what begins then is told here
		f.take()
		if !f.catchUp(ctx) || !f.tellPassing(f.rd.Last) || !here && !f.tellLater() {
			return
		}
		timer.Reset(every)
		select {
		case <-ctx.Done():
			f.yield(machine.Event{}, causeOfContext(ctx))
			return
		case <-timer.C:
		case <-f.hears.ready:
		}
	}
}

// catchUp tells what the journal holds by now. It returns false if that is all there will be.
func (f *following) catchUp(ctx context.Context) bool {
	failed := error(nil)
	f.rd.tell(ctx, func(e machine.Event, err error) bool {
		if e.Kind == "" {
			failed = err
			return false
		}
		before := f.after.before(&e)
		if whole := f.rd.whole; whole != nil {
			f.rd.whole = nil
			if !f.tellPassing(f.rd.Last-1) || before && f.lacks(whole) && !f.tellNow(whole) {
				return false
			}
			f.of(whole).taken = whole.Seq
		}
		if before {
			f.gone = !f.yield(e, err)
		}
		return !f.gone
	})
	switch {
	case f.gone || f.rd.Machine.Done() && failed == nil:
		return false
	case failed == nil:
		f.failing = time.Time{}
		return true
	case f.isPassing(ctx, failed):
		return true
	case ctx.Err() != nil:
		failed = causeOfContext(ctx)
	}
	f.yield(machine.Event{}, failed)
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
	return now.Sub(f.failing) < f.o.cfg.Timeouts.Store
}

// tellsDeltas reports whether the deltas of a run come from this process.
func (o *Orchestrator) tellsDeltas(key checkpoint.Key) bool {
	r := o.keeper.get(key)
	return r != nil && r.streams && !o.heldBack()
}

// of returns what was told of the frame of an event.
func (f *following) of(e *machine.Event) *replySoFar {
	h := f.heard[e.Frame]
	if h == nil {
		h = new(replySoFar)
		f.heard[e.Frame] = h
	}
	return h
}

// lacks reports whether a snapshot may differ from what the reader has of its step. Before the
// first event of a step that began before the position, nobody knows what that is.
func (f *following) lacks(e *machine.Event) bool {
	told, h, d := machine.StepSnapshot{}, f.of(e), e.Detail.(machine.StepSnapshot)
	switch {
	case h.event.Seq == e.Seq:
		told = h.snapshot()
	case e.Record <= f.after.Record:
		return true
	}
	switch {
	case d.Later:
		return !h.later
	case d.Whole:
		return told.Later || told.Text != d.Text || told.Thoughts != d.Thoughts
	default:
		return !reflect.DeepEqual(told, d)
	}
}

// tellNow tells an event that is kept nowhere, unless its step has its answer already, or its text
// comes later. It returns false if the following is over.
func (f *following) tellNow(e *machine.Event) bool {
	if h := f.of(e); e.Seq > h.taken && (!h.add(e) || !h.later) {
		f.gone = !f.yield(*e, nil)
	}
	return !f.gone
}

// tellLater says of each reply in progress, once, that its text comes later. It returns false if
// the following is over.
func (f *following) tellLater() bool {
	for _, x := range f.rd.Machine.Open() {
		e := snapshotOf(eventOf(&x, f.rd.Machine.Now().Local()), machine.StepSnapshot{Later: true})
		if x.Kind == machine.EffectModel && !isAside(&x) && f.lacks(&e) && !f.tellNow(&e) {
			return false
		}
	}
	return true
}

func (f *following) take() { f.passing = append(f.passing, f.o.take(f.rd.Key, f.hears)...) }

// tellPassing tells what is kept nowhere, as far as it was released by the records up to last. It
// returns false if the following is over.
func (f *following) tellPassing(last int) bool {
	for f.take(); len(f.passing) > 0 && f.passing[0].Record <= last; {
		e := &f.passing[0]
		f.passing = f.passing[1:]
		if _, ok := e.Detail.(machine.StepSnapshot); (!ok || f.lacks(e)) && !f.tellNow(e) {
			return false
		}
	}
	return true
}
