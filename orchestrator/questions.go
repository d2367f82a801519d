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

// question is what an effect that goes on wants to know of somebody.
type question struct {
	effect machine.EffectID
	wait   Wait
	answer chan answered // has room for one
}

type answered struct {
	reply Reply
	err   error
}

// errOver is what a tool gets that asks after its effect.
var errOver = errors.New("orchestrator: the effect is over")

// ask is the [tools.AskFunc] of an effect: it finds the answer that was given before, or has
// somebody asked in this process, or suspends the effect.
func (x *execution) ask(ctx context.Context, a tools.Asked) (string, error) {
	if a.Kind == WaitApproval || a.Kind == WaitUnknown || a.Kind == WaitStep {
		return "", fmt.Errorf("orchestrator: a tool cannot ask for a %q: the kind is taken", a.Kind)
	}
	e := x.effect
	w := Wait{
		Run: e.Run, Frame: e.Frame, Seq: e.ID.Seq, Kind: a.Kind, CallID: e.Call.ID, Tool: e.Call.Name, Arguments: e.Call.Arguments,
		Text: a.Text, Options: a.Options, Untrusted: e.Untrusted, Expires: a.Until,
	}
	w, err := x.run.redactWait(e.ID, w)
	if err != nil {
		return "", err
	}
	x.mu.Lock()
	ended := x.ended
	for _, ex := range x.replies {
		if ex.Wait.ID == w.ID || w.Kind == WaitTimer && ex.Wait.Kind == WaitTimer && ex.Wait.Text == w.Text {
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
		return "", &SuspendedError{Waits: []Wait{w}}
	}
	q := &question{effect: e.ID, wait: w, answer: make(chan answered, 1)}
	x.run.box.post(mail{execution: x, ask: q})
	x.run.takeover.release(x.run, x)
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

// suspendedBy notes what the effect waits for, if nobody could answer in this process.
func (x *execution) suspendedBy(w Wait, err error) {
	if !errors.Is(err, ErrSuspended) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waits = append(x.waits, w)
}

// answerOf is what a tool is told of an answer.
func answerOf(ex machine.Exchange) (string, error) {
	switch {
	case ex.Err != nil:
		return "", ex.Err
	case ex.Wait.Kind == WaitTimer:
		return "", nil
	case ex.Reply.Text == "" && ex.Reply.Reason != "":
		return "", &tools.DeclinedError{Reason: ex.Reply.Reason}
	default:
		return ex.Reply.Text, nil
	}
}

// ask has somebody asked, and reports whether that is a record.
func (r *run) ask(q *question) bool {
	if r.questions == nil {
		r.questions = map[string][]*question{}
	}
	if r.stopped() || r.ending != goesOn || r.leaving() {
		q.answer <- answered{err: &endError{cause: errStop, err: context.Canceled}}
		return false
	}
	r.questions[q.wait.ID] = append(r.questions[q.wait.ID], q)
	if len(r.questions[q.wait.ID]) > 1 {
		return false // it was asked already
	}
	if err := r.apply(machine.Asked{At: r.now, Effect: q.effect, Wait: q.wait}); err != nil {
		r.denyQuestions(q.wait.ID, err)
		return false
	}
	return true
}

// denyQuestions tells those who wait for an answer that there is none.
func (r *run) denyQuestions(id string, err error) {
	for _, q := range r.questions[id] {
		q.answer <- answered{err: err}
	}
	delete(r.questions, id)
}

// waitClosed tells those who wait for an answer that there will be none, since their effect ends. A
// reply, or that nobody answered, comes with the effect, when it goes on.
func (r *run) waitClosed(e *WaitEnded) {
	if e.Reply == nil && (e.Err.Code == delegation.CodeStopped || e.Err.Code == delegation.CodeLimit) {
		r.denyQuestions(e.WaitID, &endError{cause: e.Err, err: context.Canceled})
	}
}

// giveReplies gives an effect that goes on what was answered to it.
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

// askPerson has Config.Reply answer a wait, and posts what it said.
func (x *execution) askPerson() {
	m := mail{execution: x}
	defer func() {
		if v := recover(); v != nil {
			p := &PanicError{Value: v, Stack: debug.Stack()}
			x.panicked("Config.Reply", v, p.Stack)
			m.err = &panicked{delegation.NewError(delegation.CodePanic, fmt.Errorf("orchestrator: Config.Reply %w", p))}
		}
		x.run.box.post(m)
	}()
	if x.Err() != nil { // withdrawn already
		m.err = causeOfEnd(x)
		return
	}
	w := *x.effect.Wait
	var ctx context.Context = x
	if !w.Expires.IsZero() {
		var end context.CancelFunc
		ctx, end = context.WithDeadlineCause(ctx, w.Expires, &ExpiredError{Wait: w})
		defer end()
	}
	if w.Kind == WaitTimer {
		<-ctx.Done()
		m.err = causeOfEnd(ctx)
		return
	}
	m.err = errNobody // if it ends the goroutine
	reply, err := x.run.o.cfg.Reply(ctx, w)
	if ctx.Err() != nil {
		m.err = causeOfEnd(ctx) // what comes too late is not taken
		return
	}
	if m.err = x.readError(err, "Config.Reply"); err == nil {
		m.reply = &reply
	}
}

var errNobody = errors.New("orchestrator: Config.Reply ended its goroutine")

// personReplied deals with what Config.Reply said, and reports whether that is a record. It is none
// where the wait was cut off: it was withdrawn, or the run ends.
func (r *run) personReplied(x *execution, reply *Reply, err error, cut bool) bool {
	w := x.effect.Wait
	rec := machine.Replied{At: r.now, Reply: Reply{WaitID: w.ID}}
	_, expired := errors.AsType[*ExpiredError](err)
	_, broke := err.(*panicked) //nolint:errorlint // what the panic wraps does not count
	switch {
	case reply != nil && reply.WaitID != "" && reply.WaitID != w.ID:
		return r.refuseReply(w, &ReplyError{Run: r.id, WaitID: reply.WaitID, Problem: fmt.Sprintf("Config.Reply was asked about the wait %q", w.ID)})
	case reply != nil:
		rec.Reply = *reply
		rec.Reply.WaitID = w.ID
	case expired:
		rec.Expired = true
	case !broke && errors.Is(err, ErrSuspended):
		r.denyQuestions(w.ID, &SuspendedError{Waits: []Wait{*w}})
		return false
	case cut:
		r.denyQuestions(w.ID, err)
		return false
	default:
		rec.Err = unansweredFor(err)
		r.causes.note(rec.Err.Code, rec.Err.Message, err)
	}
	if err := r.apply(rec); err != nil {
		refused, ok := errors.AsType[*ReplyError](err)
		if waits := func(have Wait) bool { return have.ID == w.ID }; ok && slices.ContainsFunc(r.m.Waits(), waits) { // else it came too late
			return r.refuseReply(w, refused)
		}
		return false
	}
	return true
}

// refuseReply keeps why a reply is not taken: the run waits on.
func (r *run) refuseReply(w *Wait, refused *ReplyError) bool {
	r.logReplyRefused(r.ctx, refused)
	r.refused = append(r.refused, refused)
	r.denyQuestions(w.ID, &SuspendedError{Waits: []Wait{*w}})
	return false
}

// unansweredFor is the error of a wait as data.
func unansweredFor(err error) *delegation.Error {
	e := &delegation.Error{Code: delegation.AsError(err).Code, Message: err.Error()}
	if errors.Is(err, context.Canceled) {
		e.Code = delegation.CodeStopped
	}
	return e
}

// suspend has an effect wait that returned without an answer, and reports whether that is a record.
func (r *run) suspend(x *execution, err error, elapsed time.Duration) bool {
	e := *x.effect // with the next record the Machine forgets what it has handed out
	s, ok := errors.AsType[*SuspendedError](err)
	if !ok || s == nil {
		s = new(SuspendedError)
	}
	waits := s.Waits
	if len(waits) == 0 {
		waits = []Wait{{Kind: WaitStep, Text: err.Error()}}
	}
	rec := machine.Suspended{At: r.now, Effect: e.ID, State: s.State, Elapsed: elapsed}
	seen := map[string]bool{}
	for _, w := range waits {
		w.Run, w.Frame, w.Seq = r.id, e.Frame, e.ID.Seq
		w.Kind = cmp.Or(w.Kind, WaitStep)
		w.CallID, w.Tool, w.Arguments = e.Call.ID, e.Call.Name, e.Call.Arguments
		w.Untrusted = e.Untrusted
		if w, err = r.redactWait(e.ID, w); err != nil {
			r.unkept = err
			return true
		}
		if !seen[w.ID] {
			seen[w.ID] = true
			rec.Waits = append(rec.Waits, w)
		}
	}
	err = r.apply(rec)
	if err == nil || r.unkept != nil {
		return true
	}
	r.o.log(r.ctx, slog.LevelWarn, "a wait was refused", slog.String("run", r.id), slog.String("effect", e.ID.String()))
	r.answer(&e, r.failure(e.Kind, err), elapsed)
	return true
}

// ExpiredError says that nobody answered a [Wait] in time.
type ExpiredError struct{ Wait Wait }

// Error names the wait.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("orchestrator: nobody answered in time to the %s %.64q", e.Wait.Kind, e.Wait.ID)
}

// Unwrap returns context.DeadlineExceeded.
func (e *ExpiredError) Unwrap() error { return context.DeadlineExceeded }
