package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
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

// followers are those who follow runs in this process.
type followers struct {
	some atomic.Int64 // how many there are

	mu sync.Mutex
	of map[checkpoint.Key][]*follower
}

// follower hears that there is something new in a journal, and what is kept nowhere.
type follower struct {
	ready chan struct{} // holds something if there is something to look at

	mu      sync.Mutex
	passing []machine.Event
	lost    bool // it has not heard all that was told of the steps in progress
}

// mostPassing bounds what is kept for a follower that does not take it. What is told behind it is
// lost to that follower, but for snapshots of the steps in progress.
const mostPassing = 1024

// add returns a new follower of a run.
func (s *followers) add(key checkpoint.Key) *follower {
	f := &follower{ready: make(chan struct{}, 1), lost: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[checkpoint.Key][]*follower{}
	}
	s.of[key] = append(s.of[key], f)
	s.some.Add(1)
	return f
}

func (s *followers) remove(key checkpoint.Key, f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.some.Add(-1)
	left := slices.DeleteFunc(s.of[key], func(other *follower) bool { return other == f })
	if s.of[key] = left; len(left) == 0 {
		delete(s.of, key)
	}
}

// each calls do for those who follow a run.
func (s *followers) each(key checkpoint.Key, do func(*follower)) {
	if s.some.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.of[key] {
		do(f)
	}
}

// stored says that the journal of a run is longer now.
func (s *followers) stored(key checkpoint.Key) { s.each(key, (*follower).signal) }

// told hands on an event that is kept nowhere.
func (s *followers) told(key checkpoint.Key, e *machine.Event) {
	s.each(key, func(f *follower) { f.add(e) })
}

func (f *follower) add(e *machine.Event) {
	f.mu.Lock()
	if f.lost = f.lost || len(f.passing) >= mostPassing; !f.lost {
		f.passing = append(f.passing, *e)
	}
	f.mu.Unlock()
	f.signal()
}

func (f *follower) signal() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// take returns what was told since the last take and, to a follower that has lost some of it, the
// snapshots of the steps in progress.
func (o *Orchestrator) take(key checkpoint.Key, f *follower) []machine.Event {
	r := o.keeper.get(key)
	if r != nil {
		r.progress.mu.Lock() // so that nothing is told between the snapshots and what follows them
		defer r.progress.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	passing := f.passing
	if f.passing = nil; f.lost && r != nil {
		for _, s := range r.progress.frames {
			passing = append(passing, snapshotOf(s.event, s.snapshot()))
		}
	}
	f.lost = f.lost && r == nil && o.keeper.get(key) != nil // a run that has just begun
	return passing
}

// mostSoFar is the number of bytes that are kept of a reply in progress.
const mostSoFar = 1 << 20

// progress is what has come of the replies of a run that is worked on here.
type progress struct {
	mu     sync.Mutex
	frames map[string]*replySoFar // of the frames that have a reply in progress
}

// replySoFar is what was told of the last step of a frame. Its pieces are appended, and never
// copied.
type replySoFar struct {
	event          machine.Event // the first of the step
	text, thoughts strings.Builder
	calls          []*callSoFar
	size           int  // above mostSoFar not all is kept
	later          bool // the text was promised for later
	taken          int  // the last step of the frame that has its answer, for a follower
}

type callSoFar struct {
	machine.CallDelta
	arguments strings.Builder
}

// tell hands an event to those who follow the run, if no journal keeps it, and keeps what it adds
// to a reply.
func (r *run) tell(e *machine.Event) {
	p := &r.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Kind == machine.EventStepTaken, e.Kind == machine.EventFrameLeft:
		delete(p.frames, e.Frame)
	case tellsOfReply(e):
		if s := p.frames[e.Frame]; s == nil || s.event.Seq != e.Seq {
			p.frames[e.Frame] = new(replySoFar)
			r.o.followers.told(r.journal.key, new(snapshotOf(*e, machine.StepSnapshot{}))) // for one who heard of the step before it was begun again
		}
		p.frames[e.Frame].add(e)
	}
	if e.Index == 0 {
		r.o.followers.told(r.journal.key, e)
	}
}

// tellsOfReply reports whether an event changes what has come of a reply.
func tellsOfReply(e *machine.Event) bool {
	return slices.Contains([]machine.EventKind{machine.EventTextDelta, machine.EventThoughtDelta, machine.EventCallDelta, machine.EventRetryWaiting, machine.EventStepSnapshot}, e.Kind)
}

// add adds an event of the frame, and reports whether it is a piece of a reply.
func (s *replySoFar) add(e *machine.Event) bool {
	if !tellsOfReply(e) {
		return false
	}
	if e.Seq > s.event.Seq {
		*s = replySoFar{event: *e, taken: s.taken}
	}
	to := &s.text
	switch d := e.Detail.(type) {
	case machine.StepSnapshot:
		s.replace(d)
		return false
	case machine.RetryWaiting:
		if s.calls = nil; d.Discard {
			s.replace(machine.StepSnapshot{})
		}
		return false
	case machine.CallDelta:
		to = &s.call(d).arguments
	default:
		if e.Kind == machine.EventThoughtDelta {
			to = &s.thoughts
		}
	}
	if s.size += len(e.Text); s.size <= mostSoFar {
		to.WriteString(strings.ToValidUTF8(e.Text, "\ufffd")) // as readers see halves of characters
	}
	return true
}

func (s *replySoFar) replace(d machine.StepSnapshot) {
	*s = replySoFar{event: s.event, taken: s.taken, later: d.Later, size: len(d.Text) + len(d.Thoughts)}
	s.text.WriteString(d.Text)
	s.thoughts.WriteString(d.Thoughts)
	for _, c := range d.Calls {
		s.call(c.CallDelta).arguments.WriteString(c.Arguments)
	}
}

func (s *replySoFar) call(d machine.CallDelta) *callSoFar {
	for _, c := range s.calls {
		if c.CallDelta == d {
			return c
		}
	}
	s.calls = append(s.calls, &callSoFar{CallDelta: d})
	return s.calls[len(s.calls)-1]
}

func (s *replySoFar) snapshot() machine.StepSnapshot {
	if s.later || s.size > mostSoFar {
		return machine.StepSnapshot{Later: true}
	}
	d := machine.StepSnapshot{Text: s.text.String(), Thoughts: s.thoughts.String()}
	for _, c := range s.calls {
		d.Calls = append(d.Calls, machine.CallSnapshot{CallDelta: c.CallDelta, Arguments: c.arguments.String()})
	}
	return d
}

// snapshotOf returns the snapshot of the step of an event.
func snapshotOf(e machine.Event, d machine.StepSnapshot) machine.Event {
	e.Kind, e.Text, e.Detail = machine.EventStepSnapshot, "", d
	return e
}

// wholeReply returns the snapshot of the reply that a record holds; nil if it holds none that was
// to be told.
func wholeReply(m *machine.Machine, rec machine.Record) *machine.Event {
	a, ok := rec.(machine.Answered)
	if !ok {
		return nil
	}
	var reply *messages.Assistant
	switch answer := a.Answer.(type) {
	case nextstep.APIResponse:
		reply = &answer.Response.Message
	case nextstep.Failure:
		reply = &answer.Partial
	default:
		return nil
	}
	for _, x := range m.Open() {
		if x.ID == a.Effect && x.Kind == machine.EffectModel && !isAside(&x) {
			return new(snapshotOf(eventOf(&x, a.At), machine.StepSnapshot{Text: reply.Text(), Thoughts: reply.Thought(), Whole: true}))
		}
	}
	return nil
}
