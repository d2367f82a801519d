package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// ReplayError says that a run cannot be taken up again from its journal: with what it was answered,
// a strategy wants something else now. Its code, its configuration or the tools of the run have
// changed.
type ReplayError struct {
	Run      string
	Seq      int // of the step
	Recorded StepID
	Now      StepID
}

// StepID says which step of a run was asked for.
type StepID struct {
	Seq    int
	Frame  string
	Kind   string
	Digest string // of all that stands in the step
}

// Error names the run, the sequence number, and both steps.
func (e *ReplayError) Error() string {
	now := "the run has ended"
	if e.Now.Kind != "" {
		now = e.Now.String()
	}
	return fmt.Sprintf("orchestrator: run %.64q cannot go on from its journal: at step %d it recorded %s, and now there is %s; the strategies, their configuration or the tools have changed",
		e.Run, e.Seq, e.Recorded, now)
}

// String names frame, kind and digest.
func (s StepID) String() string {
	return fmt.Sprintf("%s of frame %s (step %d, digest %.8s)", s.Kind, s.Frame, s.Seq, s.Digest)
}

// ReplyError says why a [Reply] was not taken. Nothing has changed: the right reply is still waited
// for.
type ReplyError struct {
	Run     string
	WaitID  string
	Problem string
}

// Error names the wait.
func (e *ReplyError) Error() string {
	return fmt.Sprintf("orchestrator: run %.64q: the reply to the wait %.64q cannot be taken: %s", e.Run, e.WaitID, e.Problem)
}

// Resume goes on with a run from its journal in Config.Store: after its last stored answer, in
// whatever process. The replies answer what it waits for; those that are missing are waited for
// again, and nothing that has an answer is done again. Of a run that has ended, Resume yields the
// last event.
//
// The first event is RunResumed. What goes wrong before it is an error without an event: a
// [*JournalError] (wrapping checkpoint.ErrNotFound, or ErrConflict where somebody else has resumed
// the run), a [*RunExistsError] for a run that is in progress in this Orchestrator, a
// [*ReplayError], or a [*ReplyError]; after them the run is as it was. Timeouts count from now,
// Limits from the beginning of the run. Stop a resumed run by its context or by breaking out of the
// loop.
func (o *Orchestrator) Resume(ctx context.Context, run string, replies ...Reply) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r, err := o.load(ctx, run, o.tools.Definitions())
		if err != nil {
			yield(Event{}, err)
			return
		}
		if r.m.Done() {
			r.ended(replies, yield)
			return
		}
		if err := r.take(ctx, replies); err != nil {
			r.close()
			yield(Event{}, err)
			return
		}
		r.m.Events() // they have been told
		r.resumed = true
		r.goOn(ctx, nil, true, yield)
	}
}

// ended tells again how a run has ended.
func (r *run) ended(replies []Reply, yield func(Event, error) bool) {
	defer r.close()
	if len(replies) > 0 {
		yield(Event{}, &ReplyError{Run: r.m.Run(), WaitID: replies[0].WaitID, Problem: "the run has ended"})
		return
	}
	e := r.m.rootEvent(EventRunFinished, RunFinished{Status: r.m.status, Output: r.m.output})
	e.Time = r.now
	yield(e, outcome(r.m.output.Err))
}

// load makes a run of what its journal says.
func (o *Orchestrator) load(ctx context.Context, id string, allowed []tools.Definition) (*run, error) {
	if o.store == nil {
		return nil, &ConfigError{Field: "Store", Err: errors.New("is nil: there is no journal to resume a run from")}
	}
	if checkpoint.CheckRun(id) != nil { // nothing can be kept under it
		return nil, &JournalError{Run: id, Err: &checkpoint.NotFoundError{Run: id}}
	}
	r := &run{o: o, ctx: ctx, journal: &journal{store: o.store, run: id}}
	if err := r.claim(id); err != nil {
		return nil, err
	}
	record, err := r.read(ctx, allowed)
	if err == nil && r.m == nil {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, r.unread(record, err)
	}
	r.m.onPanic = o.strategyPanicked(ctx)
	return r, nil
}

// read does again what the journal tells. With an error it returns the number of the record that it
// concerns; 0 if none.
func (r *run) read(ctx context.Context, allowed []tools.Definition) (record int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	for rec, err := range r.journal.store.Read(ctx, r.journal.run, 1) {
		if err != nil {
			_, sound := foreign(err)
			return 0, sound
		}
		e, err := readEntry(rec.Data)
		if err == nil && rec.Seq != r.journal.last+1 {
			err = fmt.Errorf("it stands behind record %d", r.journal.last)
		}
		if err == nil {
			err = r.fold(&e, allowed)
		}
		if err != nil {
			return rec.Seq, err
		}
		r.journal.last, r.now = rec.Seq, e.At
	}
	return 0, nil
}

// unread lets go of a run whose journal cannot be read.
func (r *run) unread(record int, err error) error {
	r.close()
	if _, ok := errors.AsType[*ReplayError](err); ok {
		return err
	}
	if p, ok := errors.AsType[*PanicError](err); ok {
		r.o.panicked(r.ctx, &PanicReport{Run: r.journal.run, Where: "reading the journal", Value: p.Value, Stack: p.Stack})
	}
	err = &JournalError{Run: r.journal.run, Record: record, Err: err}
	r.logStoreFault(r.ctx, "a journal could not be read", err)
	return err
}

// fold does again what an entry tells.
func (r *run) fold(e *entry, allowed []tools.Definition) error {
	if (r.m == nil) != (e.Type == entryStart) {
		return errors.New("a journal has one start, and it is the first record")
	}
	if e.Type == entryStart {
		task := Task{Run: r.journal.run, Strategy: e.Start.Strategy, Input: e.Start.Input, Limits: e.Start.Limits}
		m, err := r.o.machine(&task, allowed, false, nil)
		if err == nil {
			m.untrusted = m.untrusted || e.Start.Untrusted
			r.m = m
		}
		return err
	}
	if r.m.Done() {
		return &ReplayError{Run: r.m.Run(), Seq: e.Seq, Recorded: e.step()}
	}
	switch e.Type {
	case entryWait:
		r.asks().suspended(e)
		r.partial = append(r.partial, e.Results...)
		r.kept = len(r.partial)
		r.asks().spent, r.people.held = e.Spent, e.Held
		if e.Calls != nil {
			r.people.edited = e.Calls
		}
		return nil
	case entryReply:
		r.asks().replied(e.Replies)
		return nil
	default:
		return r.foldAnswer(e)
	}
}

func (r *run) foldAnswer(e *entry) error {
	frame, _ := r.m.Frame()
	now := StepID{Seq: r.m.Seq(), Frame: frame, Kind: r.m.pending.Kind().String(), Digest: r.m.stepSum}
	if now != e.step() {
		return &ReplayError{Run: r.m.Run(), Seq: e.Seq, Recorded: e.step(), Now: now}
	}
	answer, err := nextstep.UnmarshalAnswer(e.Answer)
	if err != nil {
		return err
	}
	r.settled()
	return r.m.Step(answer)
}

func (e *entry) step() StepID {
	return StepID{Seq: e.Seq, Frame: e.Frame, Kind: e.Kind, Digest: e.Digest}
}

// take accepts replies, all of them or none.
func (r *run) take(ctx context.Context, replies []Reply) error {
	now := time.Now()
	var ids idSet
	for _, reply := range replies {
		problem := r.asks().problem(reply, now)
		if !ids.add(reply.WaitID) {
			problem = "there are two replies to it"
		}
		if problem != "" {
			refused := &ReplyError{Run: r.m.Run(), WaitID: reply.WaitID, Problem: problem}
			r.logReplyRefused(ctx, refused)
			return refused
		}
	}
	r.now = now
	r.asks().replied(replies)
	r.fresh = replies
	return r.append(ctx, &entry{Type: entryReply, At: now, Seq: r.m.Seq(), Replies: replies})
}
