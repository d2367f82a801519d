package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/tools"
)

// question is a question to a person from an effect in progress.
type question struct {
	effect machine.EffectID
	wait   machine.Wait
	answer chan answered // has capacity 1
}

type answered struct {
	reply machine.Reply
	err   error
}

// errOver is the error of a tool that asks after its effect has ended.
var errOver = errors.New("orchestrator: the effect is over")

// ask is the [tools.AskFunc] of an effect: it returns an earlier answer, or asks a person in this
// process, or suspends the effect.
func (x *execution) ask(ctx context.Context, a tools.Asked) (string, error) {
	if err := kindTaken(a.Kind); err != nil {
		return "", err
	}
	e := &x.effect
	w, err := x.waitFor(&a.Question)
	if err != nil {
		return "", err
	}
	x.mu.Lock()
	ended := x.ended
	for _, ex := range x.replies {
		if ex.Wait.ID == w.ID || w.Kind == machine.WaitTimer && ex.Wait.Kind == machine.WaitTimer && ex.Wait.Text == w.Text {
			x.mu.Unlock()
			return answerOf(ex)
		}
	}
	if x.run.o.cfg.Reply == nil && !ended {
		x.waits = append(x.waits, w)
	}
	x.mu.Unlock()
	switch {
	case ended:
		return "", errOver
	case x.run.o.cfg.Reply == nil:
		return "", &SuspendedError{Waits: []machine.Wait{w}}
	}
	q := &question{effect: e.ID, wait: w, answer: make(chan answered, 1)}
	x.run.box.post(mail{execution: x, ask: q})
	defer x.asked.Begin()()
	select {
	case got := <-q.answer:
		if got.err != nil {
			x.suspendedBy(w, got.err)
			return "", got.err
		}
		return answerOf(machine.Exchange{Wait: w, Reply: got.reply})
	case <-ctx.Done():
		return "", causeOfEnd(ctx)
	}
}

// kindTaken returns an error if a tool cannot ask a question of that kind.
func kindTaken(kind string) error {
	if kind == machine.WaitApproval || kind == machine.WaitUnknown || kind == machine.WaitStep {
		return fmt.Errorf("orchestrator: a tool cannot ask for a %q: the kind is taken", kind)
	}
	return nil
}

// waitFor returns the wait of a question of the effect.
func (x *execution) waitFor(q *tools.Question) (machine.Wait, error) {
	e := &x.effect
	return x.run.redactWait(e.ID, machine.Wait{
		Run: e.Run, Frame: e.Frame, Seq: e.ID.Seq, Kind: q.Kind, CallID: e.Call.ID, Tool: e.Call.Name, Arguments: e.Call.Arguments,
		Text: q.Text, Options: q.Options, Untrusted: e.Untrusted, Expires: q.Until,
	})
}

// suspendedBy stores the wait, if nobody could answer it in this process.
func (x *execution) suspendedBy(w machine.Wait, err error) {
	if !errors.Is(err, tools.ErrSuspended) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waits = append(x.waits, w)
}

// answerOf converts an answer to the results of Ask.
func answerOf(ex machine.Exchange) (string, error) {
	switch {
	case ex.Err != nil:
		return "", ex.Err
	case ex.Wait.Kind == machine.WaitTimer:
		return "", nil
	case ex.Reply.Text == "" && ex.Reply.Reason != "":
		return "", &tools.DeclinedError{Reason: ex.Reply.Reason}
	default:
		return ex.Reply.Text, nil
	}
}

// ask asks a person a question of a running effect.
func (r *run) ask(q *question) {
	if r.questions == nil {
		r.questions = map[string][]*question{}
	}
	if r.stopped() || r.ending != goesOn || r.leaving() {
		q.answer <- answered{err: &endError{cause: errStop, err: context.Canceled}}
		return
	}
	r.questions[q.wait.ID] = append(r.questions[q.wait.ID], q)
	if len(r.questions[q.wait.ID]) > 1 {
		return // the question was asked already
	}
	if err := r.apply(machine.Asked{At: r.now, Effect: q.effect, Wait: q.wait}); err != nil {
		r.denyQuestions(q.wait.ID, err)
	}
}

// denyQuestions ends the questions of a wait with an error.
func (r *run) denyQuestions(id string, err error) {
	for _, q := range r.questions[id] {
		q.answer <- answered{err: err}
	}
	delete(r.questions, id)
}

// waitClosed ends the questions of a closed wait, because their effect ends. Replies, and errors
// instead of a reply, come with the effect when it continues.
func (r *run) waitClosed(e *machine.WaitEnded) {
	if e.Reply == nil && (e.Err.Code == delegation.CodeStopped || e.Err.Code == delegation.CodeLimit) {
		r.denyQuestions(e.WaitID, &endError{cause: e.Err, err: context.Canceled})
	}
}

// giveReplies passes replies to an effect that continues.
func (r *run) giveReplies(x *execution, e *machine.Effect) {
	x.mu.Lock()
	x.replies = e.Replies
	x.mu.Unlock()
	for _, ex := range e.Replies {
		for _, q := range r.questions[ex.Wait.ID] {
			got := answered{reply: ex.Reply}
			if ex.Err != nil {
				got.err = ex.Err
				if cause := r.causes.find(ex.Err); cause != nil {
					got.err = cause
				}
			}
			q.answer <- got
		}
		delete(r.questions, ex.Wait.ID)
	}
}

// askPerson calls Config.Reply to answer a wait, and posts the reply.
func (x *execution) askPerson() {
	m := mail{execution: x}
	defer func() {
		if v := recover(); v != nil {
			p := &machine.PanicError{Value: v, Stack: debug.Stack()}
			x.panicked("Config.Reply", v, p.Stack)
			m.err = &panicked{delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: Config.Reply %w", p))}
		}
		x.run.box.post(m)
	}()
	if x.Err() != nil { // it was withdrawn already
		m.err = causeOfEnd(x)
		return
	}
	w := *x.effect.Wait
	var ctx context.Context = x
	if !w.Expires.IsZero() {
		var end context.CancelFunc
		ctx, end = context.WithDeadlineCause(ctx, w.Expires, &expiredError{Wait: w})
		defer end()
	}
	if w.Kind == machine.WaitTimer {
		<-ctx.Done()
		m.err = causeOfEnd(ctx)
		return
	}
	m.err = errNobody // stays if Config.Reply ends the goroutine
	reply, err := x.run.o.cfg.Reply(ctx, w)
	if ctx.Err() != nil {
		m.err = causeOfEnd(ctx) // a late reply is dropped
		return
	}
	if m.err = x.readError(err, "Config.Reply"); err == nil {
		m.reply = &reply
	}
}

var errNobody = errors.New("orchestrator: Config.Reply ended its goroutine")

// personReplied handles the reply of Config.Reply. It applies no record if the wait was cut off: it
// was withdrawn, or the run ends.
func (r *run) personReplied(x *execution, reply *machine.Reply, err error, cut bool) {
	w := x.effect.Wait
	rec := machine.Replied{At: r.now, Reply: machine.Reply{WaitID: w.ID}}
	_, expired := errors.AsType[*expiredError](err)
	_, broke := err.(*panicked) //nolint:errorlint // what the panic wraps does not count
	switch {
	case reply != nil && reply.WaitID != "" && reply.WaitID != w.ID:
		r.refuseReply(w, &machine.ReplyError{Run: r.id, WaitID: reply.WaitID, Problem: fmt.Sprintf("Config.Reply was asked about the wait %q", w.ID)})
		return
	case reply != nil:
		rec.Reply = *reply
		rec.Reply.WaitID = w.ID
	case expired:
		rec.Expired = true
	case !broke && errors.Is(err, tools.ErrSuspended):
		r.denyQuestions(w.ID, &SuspendedError{Waits: []machine.Wait{*w}})
		return
	case cut:
		r.denyQuestions(w.ID, err)
		return
	default:
		rec.Err = unansweredFor(err)
		r.causes.note(rec.Err.Code, rec.Err.Message, err)
	}
	if err := r.apply(rec); err != nil {
		refused, ok := errors.AsType[*machine.ReplyError](err)
		if waits := func(have machine.Wait) bool { return have.ID == w.ID }; ok && slices.ContainsFunc(r.m.Waits(), waits) { // otherwise it came too late
			r.refuseReply(w, refused)
		}
	}
}

// refuseReply stores why a reply is rejected; the run keeps waiting.
func (r *run) refuseReply(w *machine.Wait, refused *machine.ReplyError) {
	r.logReplyRefused(r.ctx, refused)
	r.refused = append(r.refused, refused)
	r.denyQuestions(w.ID, &SuspendedError{Waits: []machine.Wait{*w}})
}

// unansweredFor converts the error of a wait to data.
func unansweredFor(err error) *delegation.Error {
	e := &delegation.Error{Code: delegation.AsError(err).Code, Message: err.Error()}
	if errors.Is(err, context.Canceled) {
		e.Code = delegation.CodeStopped
	}
	return e
}

// suspend suspends an effect that returned without an answer.
func (r *run) suspend(x *execution, err error, elapsed time.Duration) {
	e := &x.effect
	s, ok := errors.AsType[*SuspendedError](err)
	if !ok || s == nil {
		s = new(SuspendedError)
	}
	waits := s.Waits
	if len(waits) == 0 {
		waits = []machine.Wait{{Kind: machine.WaitStep, Text: err.Error()}}
	}
	rec := machine.Suspended{At: r.now, Effect: e.ID, State: s.State, Elapsed: elapsed}
	seen := map[string]bool{}
	for _, w := range waits {
		w.Run, w.Frame, w.Seq = r.id, e.Frame, e.ID.Seq
		w.Kind = cmp.Or(w.Kind, machine.WaitStep)
		w.CallID, w.Tool, w.Arguments = e.Call.ID, e.Call.Name, e.Call.Arguments
		w.Untrusted = e.Untrusted
		if w, err = r.redactWait(e.ID, w); err != nil {
			r.redaction.failed = err
			return
		}
		if !seen[w.ID] {
			seen[w.ID] = true
			rec.Waits = append(rec.Waits, w)
		}
	}
	err = r.apply(rec)
	if err == nil || r.unkept() != nil {
		return
	}
	r.o.log(r.ctx, slog.LevelWarn, "a wait was refused", slog.String("run", r.id), slog.String("effect", e.ID.String()))
	r.answer(e, r.failure(e.Kind, err), elapsed)
}

// expiredError reports that nobody answered a [machine.Wait] in time.
type expiredError struct{ Wait machine.Wait }

// Error names the wait.
func (e *expiredError) Error() string {
	return fmt.Sprintf("orchestrator: nobody answered in time to the %s %.64q", e.Wait.Kind, e.Wait.ID)
}

// Unwrap returns context.DeadlineExceeded.
func (e *expiredError) Unwrap() error { return context.DeadlineExceeded }
