package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/tools"
)

// Ask asks somebody and returns the reply: at once if the run was resumed with one; else from
// Config.Reply, which may take long; else the error is a [*SuspendedError], which the Handler has
// to return, together with those of its other waits. ID, Frame, Seq and Untrusted of w are filled
// in. While tools run Ask may be called from any goroutine.
//
// The ID is a hash of the run, the step, and all that w says, the arguments in canonical form: a
// reply to it fits nothing else. A wait that has expired is made anew, with a new ID.
//
// While somebody is asked in this process, a stop of either kind ends the wait; the error is then
// the cause. An error of Config.Reply is that of Ask, and stands in the event EventWaitEnded. A
// reply of Config.Reply to another wait is not taken: the run is suspended, and its error is a
// [*ReplyError].
//
// With a Call that no run has made nobody is asked: the error is a [*SuspendedError] with the wait.
func (c Call) Ask(ctx context.Context, w Wait) (Reply, error) {
	w.Run, w.Frame, w.Seq, w.Untrusted = c.Run, c.Frame, c.Seq, c.Untrusted
	if c.run == nil {
		w.ID = w.identity()
		return Reply{}, &SuspendedError{Waits: []Wait{w}}
	}
	p := c.run.asks()
	w, reply, answered := p.find(w, time.Now())
	if answered {
		return reply, nil
	}
	if w.expired(time.Now()) {
		return Reply{}, &ExpiredError{Wait: w}
	}
	if c.run.o.reply == nil {
		p.wait(w, nil)
		c.emit(Event{Kind: EventWaitStarted, Detail: WaitStarted{Wait: w}})
		return Reply{}, &SuspendedError{Waits: []Wait{w}}
	}
	c.emit(Event{Kind: EventWaitStarted, Detail: WaitStarted{Wait: w}})
	reply, err := c.run.askNow(ctx, w)
	if err == nil && reply.WaitID != "" && reply.WaitID != w.ID {
		return Reply{}, c.run.misdirected(w, reply)
	}
	if errors.Is(err, ErrSuspended) {
		p.wait(w, nil)
		return Reply{}, &SuspendedError{Waits: []Wait{w}}
	}
	end := WaitEnded{WaitID: w.ID, Err: unansweredFor(err)}
	if err == nil {
		reply.WaitID = w.ID
		p.answered(w, reply)
		end.Reply = &reply
	}
	c.emit(Event{Kind: EventWaitEnded, Detail: end})
	return reply, err
}

// misdirected refuses a reply of Config.Reply that is for another wait than the one it was asked
// about.
func (r *run) misdirected(w Wait, reply Reply) error {
	refused := &ReplyError{Run: w.Run, WaitID: reply.WaitID, Problem: fmt.Sprintf("Config.Reply was asked about the wait %q", w.ID)}
	r.logReplyRefused(r.ctx, refused)
	r.people.wait(w, refused)
	return &SuspendedError{Waits: []Wait{w}}
}

// unansweredFor is the error of a wait as data, which its event tells; nil if there is none.
func unansweredFor(err error) *delegation.Error {
	if err == nil {
		return nil
	}
	code := delegation.AsError(err).Code
	if _, ok := errors.AsType[*PanicError](err); ok {
		code = delegation.CodePanic
	}
	if errors.Is(err, errStop) || errors.Is(err, context.Canceled) {
		code = delegation.CodeStopped
	}
	return delegation.NewError(code, err)
}

// askNow asks in this process.
func (r *run) askNow(ctx context.Context, w Wait) (reply Reply, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !w.Expires.IsZero() {
		var end context.CancelFunc
		ctx, end = context.WithDeadlineCause(ctx, w.Expires, &ExpiredError{Wait: w})
		defer end()
	}
	if r.stop != nil {
		go func() {
			select {
			case <-r.stop:
				cancel(errStop)
			case <-ctx.Done():
			}
		}()
	}
	defer func() {
		if v := recover(); v != nil {
			p := &PanicError{Value: v, Stack: debug.Stack()}
			r.o.panicked(r.ctx, &PanicReport{Run: w.Run, Frame: w.Frame, Seq: w.Seq, Where: "Config.Reply", Value: v, Stack: p.Stack})
			err = fmt.Errorf("orchestrator: Config.Reply %w", p)
		}
	}()
	if cause := r.stopped(ctx); cause != nil { // nobody is asked for what is over
		return Reply{}, cause
	}
	reply, err = r.o.reply(ctx, w)
	if ctx.Err() != nil {
		return Reply{}, causeOfEnd(ctx) // what comes too late is not taken
	}
	if _, err = foreign(err); err != nil {
		return Reply{}, err
	}
	return reply, nil
}

// askTool is [tools.AskFunc]. A tool that was abandoned may ask when its step is over.
func (r *run) askTool(ctx context.Context, a tools.Asked) (string, error) {
	call, ok := r.people.step(a.Seq)
	if !ok {
		return "", errOver
	}
	if a.Kind == WaitApproval || a.Kind == WaitStep {
		return "", fmt.Errorf("orchestrator: a tool cannot ask for a %q: the kind is taken", a.Kind)
	}
	reply, err := call.Ask(ctx, Wait{
		Kind: a.Kind, CallID: a.Call.ID, Tool: a.Call.Name, Arguments: a.Call.Arguments, Text: a.Text, Options: a.Options,
	})
	switch {
	case err != nil:
		return "", err
	case reply.Text == "" && reply.Reason != "":
		return "", &tools.DeclinedError{Reason: reply.Reason}
	default:
		return reply.Text, nil
	}
}

// errOver is what a tool gets that asks after its step.
var errOver = errors.New("orchestrator: the step is over")
