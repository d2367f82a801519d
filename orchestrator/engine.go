package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator/internal/journals"
)

// Standing is how a run stands that another engine drives, see [Orchestrator.Begin].
type Standing struct {
	Key     checkpoint.Key
	Records int            // how many are stored
	Epoch   int64          // for Step and Continue; each Unclear raises it
	Status  machine.Status // "" while there is something to perform; StatusWaiting if only people and times are waited for; else how the run has ended

	// Effects are to be performed, each by one Step, in any order and at the same time: those that
	// were released and have no answer. Questions to people are Waits instead.
	Effects   []machine.Effect
	Withdrawn []machine.EffectID // of the Effects: end the context of their Step
	Waits     []machine.Wait     // open ones, also while effects are in progress; timers among them
	Due       time.Time          // when a Continuation with Expire has something to end; zero: never

	Result Result // of a run that waits or has ended; else only Run is set
}

// Continuation says what a run is told from outside; see [Orchestrator.Continue].
type Continuation struct {
	// After is the Records of the Standing that this is about. Replies to waits that were answered
	// since, notes of the same text and a stop are not given again, so that a Continue whose
	// outcome is unknown may be repeated as it is. 0: nothing is left out.
	After int

	Replies []machine.Reply
	Notes   []string // as by [Orchestrator.Note]
	Expire  bool     // end the waits that have expired, and agents whose time is over

	Stop   bool   // stop the run, after the effects in progress
	Now    bool   // with Stop: at once; end the contexts of the Steps then
	Reason string // of the Stop, as in [Orchestrator.Stop]

	// Unclear says that nobody knows what became of the effects that were in progress at Epoch, and
	// that no Step is in progress, as far as can be known: a Step that is, in a process that was
	// frozen, begins no effect any more that is not safe to repeat. It is what
	// [Orchestrator.Resume] does after a crash: calls that may have had their effect are looked up,
	// or become waits of the kind [machine.WaitUnknown], as Unknown says; all others are in Effects
	// again. If the Epoch of the run is another one, it has been done already.
	Unclear bool
	Epoch   int64
	Unknown machine.Unknown

	Limits delegation.Limits // as in [Resumption]; for a run that waits, or with Unclear
}

// ErrNotBegun is wrapped by the error of a Step that did not begin its effect: the same Step may be
// made again.
var ErrNotBegun = errors.New("orchestrator: the effect was not begun")

// Begin begins a run that another engine drives, such as a workflow service: one that says itself
// when, and in which process, each effect is performed. The records lie in Config.Store, and are
// those that the loop of [Orchestrator.Run] writes. Begin, Step and Continue may be called in any
// number of processes with the same Config:
//
//	s, err := o.Begin(ctx, task)
//	for each of s.Effects that was not begun yet:
//		s, err = o.Step(ctx, s.Key, effect.ID, s.Epoch, nil)
//	for what comes from outside, and at s.Due:
//		s, err = o.Continue(ctx, s.Key, continuation)
//	until s.Status is not "" and not StatusWaiting
//
// Begin again, with the same Run and task, gives the Standing; another task is a [*RunExistsError],
// and so is a run that a loop has begun. Stop and Notes of the Task are not used, and neither are
// Reply, Observe and Timeouts.Run of the Config. For a task with a Factory, Config.Factory must
// know it in other processes.
//
// Nothing is held between the calls. So that no [Orchestrator.Recover] takes the run, and Resume
// only with TakeOver, its head has a lease that does not run out before the run ends, under a
// writer whose name begins with "engine-"; Prune and Forget leave it alone until then. For these
// methods the run is that of an engine as long as it has such a lease.
func (o *Orchestrator) Begin(ctx context.Context, task Task) (Standing, error) {
	if o.cfg.Store == nil {
		return Standing{}, &ConfigError{Field: "Store", Err: errors.New("is nil: another engine needs the journals of its runs")}
	}
	if task.Run != "" {
		if s, err := o.begun(ctx, &task); !errors.Is(err, checkpoint.ErrNotFound) {
			return s, err
		}
	}
	r, err := o.begin(ctx, &task, false, true)
	if exists, ok := errors.AsType[*RunExistsError](err); ok && exists.Run == task.Run { // it was begun just now
		return o.begun(ctx, &task)
	}
	if err != nil {
		return Standing{}, err
	}
	defer r.close()
	return r.standing(), nil
}

// begun returns how a run of a task stands that was begun before.
func (o *Orchestrator) begun(ctx context.Context, task *Task) (Standing, error) {
	return o.drive(ctx, checkpoint.Key{Namespace: task.Namespace, Run: task.Run}, true, func(r *run) error {
		if !r.isOf(task) {
			return &RunExistsError{Run: r.id, Err: checkpoint.ErrConflict}
		}
		return nil
	})
}

// isOf reports whether the run is one of a task, as far as the task says what is done. The strategy
// and the messages of a turn depend on the turn before it.
func (r *run) isOf(task *Task) bool {
	s, err := r.o.started(task)
	if err == nil && r.o.cfg.Redact != nil {
		var rec machine.Record
		if rec, err = r.o.redact(r.ctx, r.id, s); err == nil {
			s = rec.(machine.Started)
		}
	}
	form := func(s machine.Started) string {
		told := machine.Started{Strategy: s.Strategy, Input: s.Input, Model: s.Model, Temperature: s.Temperature, Metadata: s.Metadata, Labels: s.Labels}
		if task.Session != "" {
			told.Strategy, told.Input.Messages, told.Labels = "", nil, nil
		}
		text, problem := machine.AppendRecord(nil, told)
		err = errors.Join(err, problem)
		return string(text)
	}
	return form(s) == form(r.m.Started()) && err == nil
}

// Standing reads how a run stands. It changes nothing. Its errors are those of
// [Orchestrator.Resume].
func (o *Orchestrator) Standing(ctx context.Context, key checkpoint.Key) (Standing, error) {
	return o.drive(ctx, key, false, func(*run) error { return nil })
}

// Continue tells a run what has come from outside, stores what follows from it, and returns how the
// run stands then. It applies the messages in the inbox of the run first. An error that wraps a
// [*machine.ReplyError] says that a reply or a note was refused; then nothing of the Continuation
// was applied. The other errors are those of [Orchestrator.Step].
func (o *Orchestrator) Continue(ctx context.Context, key checkpoint.Key, how Continuation) (Standing, error) {
	return o.drive(ctx, key, true, func(r *run) error {
		how.After = cmp.Or(how.After, r.journal.last) // if another process comes between, a part is stored already
		told := how
		if err := r.leaveOut(&told); err != nil {
			return err
		}
		return r.told(&told)
	})
}

// leaveOut removes from a Continuation what the journal holds of it since its After.
func (r *run) leaveOut(how *Continuation) error {
	j := r.journal
	how.Replies, how.Notes = slices.Clone(how.Replies), slices.Clone(how.Notes)
	if how.After >= j.last {
		return nil
	}
	rd := &journals.Reading{Key: j.key, Store: j.store, Last: how.After, Damaged: damaged(j.key)}
	for stored, err := range rd.Records(r.ctx) {
		var rec machine.Record
		if err == nil {
			rec, err = rd.Decode(stored)
		}
		if err != nil {
			return err
		}
		switch rec := rec.(type) {
		case machine.Replied:
			how.Replies = slices.DeleteFunc(how.Replies, func(given machine.Reply) bool {
				return given.WaitID == rec.Reply.WaitID && !rec.Expired && rec.Err == nil
			})
		case machine.Noted:
			if i := slices.Index(how.Notes, rec.Text); i >= 0 {
				how.Notes = slices.Delete(how.Notes, i, i+1)
			}
		case machine.Stopped:
			how.Stop = how.Stop && (rec.Frame != "" || how.Now && !rec.Now)
		}
	}
	return nil
}

// told applies a Continuation. A run that waits, or whose effects are unclear, is resumed by it.
func (r *run) told(how *Continuation) error {
	unclear, waiting := how.Unclear && how.Epoch == r.journal.epoch && len(r.effects()) > 0, r.m.Status() == machine.StatusWaiting
	r.now = time.Now()
	if told, err := r.isTold(how); err != nil || !told && !unclear {
		return err
	}
	switch {
	case unclear || waiting:
		if unclear {
			r.journal.epoch++
		}
		if err := r.applyResumption(&Resumption{Replies: how.Replies, Limits: how.Limits, Unknown: how.Unknown, expires: how.Expire}); err != nil {
			return err
		}
		if how.Replies = nil; unclear {
			r.journal.idle = 0
		}
	default:
		posted, err := r.posted()
		if err == nil && how.Expire {
			err = r.expire(true, posted)
		}
		if err != nil {
			return err
		}
		r.collect(posted)
	}
	r.hear()
	if how.Expire {
		r.stopLateAgents()
	}
	for _, reply := range how.Replies {
		err := r.applyReply(reply, r.now)
		if errors.Is(err, machine.ErrDone) { // by a message
			err = &machine.ReplyError{Run: r.id, WaitID: reply.WaitID, Problem: "the run has ended"}
		}
		if err != nil {
			return err
		}
	}
	for _, text := range how.Notes {
		_ = r.note(text, false) // the run may have ended
	}
	if err := r.settle(); err != nil {
		return err
	}
	if b := &r.journal.inbox; how.Stop {
		b.stop = &errPostedStop{how.Reason}
		b.stops.Store(true)
		if how.Now {
			r.cancel(b.stop)
		}
	}
	if !r.m.Done() && r.stopped() {
		r.applyStop()
	}
	return r.settle()
}

// isTold reports whether a run is told anything that it can take. An error refuses it.
func (r *run) isTold(how *Continuation) (bool, error) {
	for _, text := range how.Notes {
		if problem := noteProblem(text); problem != "" {
			return false, &machine.ReplyError{Run: r.id, Problem: problem}
		}
	}
	if r.m.Done() && len(how.Replies)+len(how.Notes) > 0 {
		return false, &machine.ReplyError{Run: r.id, Problem: "the run has ended"}
	}
	if r.m.Status() != machine.StatusWaiting {
		return true, nil
	}
	if len(how.Replies)+len(how.Notes) > 0 || how.Stop || how.Expire && !r.dueAt().IsZero() && !r.dueAt().After(r.now) {
		return true, nil
	}
	posted, err := r.posted()
	return len(posted) > 0, err
}

// settle stores what was applied, and tells it.
func (r *run) settle() error {
	if err := r.commit(); err != nil {
		return err
	}
	if err := r.unkept(); err != nil {
		return errors.Join(err, r.park(err.Error()))
	}
	applied := r.applied
	r.applied = false
	events := r.m.Ready().Events
	r.m.Advance()
	r.follow(events)
	r.deliver(events)
	if applied && r.m.Status() == machine.StatusWaiting {
		r.saveSnapshot()
	}
	return nil
}

// standing returns how the run stands.
func (r *run) standing() Standing {
	j := r.journal
	s := Standing{
		Key: j.key, Records: j.last, Epoch: j.epoch, Status: r.m.Status(), Effects: r.effects(), Withdrawn: r.m.Withdrawn(), Waits: r.m.Waits(), Due: r.dueAt(), Result: Result{Run: r.id},
	}
	if s.Status != "" {
		end := r.m.Finished(s.Status, r.m.Output())
		s.Result = result(&end, r.id)
	}
	return s
}

// effects returns the effects that are to be performed.
func (r *run) effects() []machine.Effect {
	return slices.DeleteFunc(r.m.Open(), func(e machine.Effect) bool { return e.Kind == machine.EffectPerson })
}

// dueAt returns when the first wait expires, or the time of the first agent is over; zero: never.
func (r *run) dueAt() time.Time {
	var h checkpoint.Header
	setWaits(&h, r.m.Waits())
	for _, a := range r.agents {
		if h.Due.IsZero() || a.at.Before(h.Due) {
			h.Due = a.at
		}
	}
	return h.Due
}
