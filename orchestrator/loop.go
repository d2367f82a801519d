package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// loop performs a run. It is the only loop of this package.
func (o *Orchestrator) loop(ctx context.Context, task *Task, streams bool, yield func(machine.Event, error) bool) {
	r, err := o.begin(ctx, task, streams, false)
	if err != nil {
		yield(machine.Event{}, err)
		return
	}
	defer r.close()
	r.drive(yield)
}

// drive continues a run until it ends or waits.
func (r *run) drive(yield func(machine.Event, error) bool) {
	if d := r.o.cfg.Timeouts.Run; d > 0 {
		ctx, end := context.WithTimeoutCause(r.ctx, d, fmt.Errorf("the run took longer than %v", d))
		defer end()
		r.ctx = ctx
	}
	r.consumer.yield, r.consumer.cancel = yield, r.cancel
	if r.o.cfg.Logger != nil {
		r.consumer.log = r.logEvent
	}
	if r.journal != nil {
		r.consumer.followed = r
		r.progress.frames = map[string]*replySoFar{}
	}
	if r.observation != nil {
		r.consumer.observe = r.observeEvent
	}
	r.follow(r.migrated)
	r.deliver(r.migrated)
	r.rounds()
}

// rounds is the loop of a run: what has come is applied, and what follows from it is done, until
// the run ends or waits.
func (r *run) rounds() {
	for over := false; !over; {
		mails := r.box.collect()
		r.hear()
		for i := range mails {
			r.receive(&mails[i])
			r.hear() // a consumer may stop the run
		}
		clear(mails) // do not keep ended executions while the run waits
		r.overdue()
		switch {
		case r.due():
			over = r.round()
		case len(mails) > 0: // an event was told, or what came was too late
		case len(r.executions) == 0:
			r.endWaiting()
			over = true
		default:
			r.await()
		}
	}
}

// hear applies the notes, the posted messages and the stop that have come. An answer that comes
// after them is applied after them, so that the strategy hears them together. While effects are
// ready that were not started, start applies the stop.
func (r *run) hear() {
	if r.m.Done() { // it comes too late
		return
	}
	r.applyPosted()
	r.applyNotes()
	if !r.applied && r.stopped() {
		r.applyStop()
	}
}

// due reports whether a round has something to do.
func (r *run) due() bool {
	return r.applied || r.journal != nil && len(r.journal.taken) > 0 || r.leaving() || r.unkept() != nil
}

// round stores records, emits events, and starts effects. It reports whether the run is over here.
func (r *run) round() (over bool) {
	if err := r.commit(); err != nil {
		r.endBroken(err)
		return true
	}
	r.applied = false
	rd := r.m.Ready()
	r.m.Advance()
	r.follow(rd.Events)
	r.deliver(rd.Events)
	switch {
	case r.m.Done():
		r.drain(nil, false)
		return true
	case r.unkept() != nil:
		r.endUnkept()
		return true
	case r.leaving():
		r.breakOff(rd.Effects)
		r.endLeft()
		return true
	}
	r.withdraw(rd.Withdrawn)
	r.start(rd.Effects)
	return false
}

// commit applies the intents that are due, and stores all records that are not stored yet.
func (r *run) commit() error {
	// Applying an intent may add others, or remove others by ending their calls.
	for intents := r.m.Ready().Intents; len(intents) > 0; intents = r.m.Ready().Intents {
		intent := intents[0].(machine.Intended)
		intent.At = r.now
		if err := r.apply(intent); r.unkept() != nil {
			break // what was applied before is kept
		} else if err != nil {
			return err
		}
	}
	return r.store()
}

// apply redacts a record, applies it to the Machine, and keeps it for the next append to the
// journal.
func (r *run) apply(rec machine.Record) error {
	rec, err := r.redact(rec)
	if err != nil {
		return err
	}
	if err := r.checkArguments(rec); err != nil {
		return err
	}
	return r.applyAsIs(rec)
}

// applyAsIs is apply without redaction.
func (r *run) applyAsIs(rec machine.Record) error {
	data, err := r.journal.encode(rec)
	if err != nil {
		return err
	}
	if err := r.m.Apply(rec); err != nil {
		return err
	}
	r.journal.add(rec, data)
	r.applied = true
	return nil
}

// deliver yields events. The error of the run comes with the last event.
func (r *run) deliver(events []machine.Event) {
	for i := range events {
		e := &events[i]
		e.Time = r.now
		if e.Kind == machine.EventRunFinished {
			r.consumer.last(e, r.causes.outcome(r.m.Output().Err))
			return
		}
		r.consumer.deliver(e)
		if e.Kind == machine.EventRunResumed {
			r.deliver(r.drifted)
		}
	}
}

// follow sets the deadlines of agents that begin, and ends the questions of waits that end.
func (r *run) follow(events []machine.Event) {
	for i := range events {
		if r.o.agentTimeouts {
			r.timeAgent(&events[i])
		}
		if d, ok := events[i].Detail.(machine.WaitEnded); ok && len(r.questions) > 0 {
			r.waitClosed(&d)
		}
	}
}

// start starts effects. After a stop no effect begins.
func (r *run) start(effects []machine.Effect) {
	stops := r.stopped()
	if stops {
		effects = slices.Clone(effects) // the next record invalidates what was ready
		r.applyStop()
	}
	alone := len(effects) == 1 && len(r.executions) == 0
	for i := range effects {
		switch e := &effects[i]; {
		case r.executions[e.ID] != nil: // it goes on, with what was answered to it
			r.giveReplies(r.executions[e.ID], e)
		case stops && e.Kind != machine.EffectPerson:
			_ = r.apply(machine.Answered{At: r.now, Effect: e.ID, NotBegun: true}) // the Machine may have closed it
		case e.Kind != machine.EffectPerson:
			r.launch(e, alone)
		case !stops && r.o.cfg.Reply != nil && !r.replied[e.Wait.ID]:
			x := r.newExecution(e, false)
			x.Context, x.cancel = context.WithCancelCause(r.ctx)
			r.add(x)
			go x.askPerson()
		}
	}
}

// await waits for mail, a time-out, or the end of the context.
func (r *run) await() {
	if r.detach == nil {
		r.detach = context.AfterFunc(r.ctx, r.box.signal)
	}
	if r.stop == nil && r.notes == nil {
		<-r.box.ready
		return
	}
	select {
	case <-r.box.ready:
	case <-r.stop:
	case text, ok := <-r.notes:
		r.noteRead(text, ok)
	}
}

// answer applies the answer to an effect. An invalid answer, for example from a middleware, becomes
// a failure of the effect.
func (r *run) answer(e *machine.Effect, a nextstep.Answer, elapsed time.Duration) {
	rec := e.Answered(a, r.now, elapsed)
	r.o.price(e, &rec)
	delta := r.heldBackDelta(e)
	var err error
	if r.o.cfg.Redact == nil {
		err = r.applyAsIs(rec) // the record stays off the heap
	} else {
		err = r.apply(rec)
	}
	switch {
	case err == nil:
		r.deliverRedacted(delta)
	case r.unkept() == nil && !errors.Is(err, machine.ErrDone):
		r.answerFailed(rec, err)
	}
}

// answerFailed makes an effect fail because its answer was refused with the given error. What a
// model has used for it counts.
func (r *run) answerFailed(rec machine.Answered, refused error) {
	failed := r.failure(rec.Kind, fmt.Errorf("orchestrator: the answer cannot be used: %w", refused))
	rec.Cost, rec.Unpriced = max(0, rec.Cost), max(0, rec.Unpriced)
	switch a := rec.Answer.(type) {
	case nextstep.APIResponse:
		if rec.Kind == machine.EffectModel && a.Response != nil {
			failed.Model = a.Response.Model
			bill(&failed, a.Response.Usage, a.Response.Attempts)
		}
	case nextstep.Failure:
		failed.Model = a.Model
		bill(&failed, a.Usage, a.Attempts)
	}
	rec.Answer = failed
	if err := r.apply(rec); err != nil {
		r.o.log(r.ctx, slog.LevelError, "an answer was refused", slog.String("run", r.id), slog.String("effect", rec.Effect.String()), slog.String("problem", err.Error()))
	}
}

// endWaiting ends the run with StatusWaiting.
func (r *run) endWaiting() {
	if r.m.Status() != machine.StatusWaiting {
		r.endBroken(errors.New("orchestrator: the run can neither continue nor wait"))
		return
	}
	r.saveSnapshot()
	waits := r.m.Waits()
	e := r.finished(machine.StatusWaiting, r.m.Output())
	r.consumer.last(&e, r.unanswered(waits))
}

// unanswered returns the error of a run that waits: nil if it can be resumed and no reply was
// rejected.
func (r *run) unanswered(waits []machine.Wait) error {
	refused := errors.Join(r.refused...)
	if r.o.cfg.Store == nil {
		return &UnansweredError{Run: r.id, Waits: waits, Err: refused}
	}
	return refused
}

// endBroken ends a run whose journal cannot be written, in this process: the run continues from
// what is stored. The status says whether another process has it now. Events of records that were
// not stored are still emitted.
func (r *run) endBroken(err error) {
	out := r.m.Output()
	status, code := machine.StatusInterrupted, delegation.CodeStorage
	if errors.Is(err, checkpoint.ErrConflict) {
		status, code, err = machine.StatusTakenOver, delegation.CodeTakenOver, errors.Join(ErrTakenOver, err)
	}
	out.Err = &delegation.Error{Code: code, Message: err.Error()}
	e := r.finished(status, out)
	r.consumer.last(&e, &outcomeError{err: out.Err, cause: err})
	r.drain(err, false)
}
