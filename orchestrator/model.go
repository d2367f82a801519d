package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// request is the request of an execution to a model, and the common fields of its deltas.
type request struct {
	llmclient.Request
	aside  bool // no text of its reply is told
	event  Event
	call   CallDelta // the last that was told a piece of
	detail Detail    // the same
}

// askModel asks a model.
func (x *execution) askModel(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	step, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return nil, fmt.Errorf("orchestrator: a middleware made a %T of a request", e.Step)
	}
	if x.request == nil {
		x.request = new(request)
	}
	o, outer := x.run.o, ctx
	if t := o.cfg.Timeouts.Model; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, fmt.Errorf("orchestrator: no reply within %v: %w", t, context.DeadlineExceeded))
		defer cancel()
	}
	var onDelta func(llmclient.Delta)
	if x.run.streams {
		onDelta = x.deltas()
		if o.cfg.CallDeltas {
			ctx = llmclient.WithCallDeltas(ctx, x.callDelta)
		}
		if t := o.cfg.Timeouts.ModelIdle; t > 0 {
			ctx, x.idle = newIdleTimer(ctx, t)
			defer func() {
				x.idle.stop()
				x.idle = nil
			}()
			onDelta = x.idle.around(onDelta)
		}
	}
	x.request.aside = step.Aside
	x.request.Request = step.Request // the client must not keep it
	x.where = "the client"
	resp, err := o.cfg.Client.Complete(x.withNotices(ctx), &x.request.Request, onDelta)
	x.where = ""
	if err != nil {
		return nil, timedOut(ctx, outer, x.readError(err, "the client"))
	}
	if resp == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: step.Request.Model, Message: "the client returned neither a response nor an error"}
	}
	if problem := machine.BadReply(resp); problem != "" {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: cmp.Or(resp.Asked, resp.Model, step.Request.Model), Message: "the client's reply " + problem, Usage: resp.Usage, Attempts: resp.Attempts}
	}
	return nextstep.APIResponse{Response: resp}, nil
}

// withNotices returns ctx with a function that receives the notices of the client's wrappers, if
// the run has a consumer of events. For the execution on the loop's own goroutine, which makes most
// requests, the function is made once.
func (x *execution) withNotices(ctx context.Context) context.Context {
	r := x.run
	switch {
	case !r.observed():
		return ctx
	case !x.inline || ctx != r.ctx:
		return llmclient.WithNotify(ctx, x.notice)
	case r.asking == nil:
		r.asking = llmclient.WithNotify(ctx, func(n llmclient.Notice) {
			if x := r.inline; x != nil { // else the run is over
				x.notice(n)
			}
		})
	}
	return r.asking
}

// deltas returns the function that emits the deltas of a model.
func (x *execution) deltas() func(llmclient.Delta) {
	x.request.event = x.event()
	r := x.run
	if !x.inline {
		return x.delta
	}
	if r.onDelta == nil {
		r.onDelta = func(d llmclient.Delta) {
			if x := r.inline; x != nil { // else the run is over
				x.delta(d)
			}
		}
	}
	return r.onDelta
}

// delta emits a piece of a reply.
func (x *execution) delta(d llmclient.Delta) {
	e := &x.request.event
	if x.run.o.heldBack() || x.request.aside {
		return
	}
	x.sawDelta = true
	e.Kind, e.Text = EventTextDelta, d.Text
	if d.Kind == llmclient.DeltaThought {
		e.Kind = EventThoughtDelta
	}
	if x.inline {
		x.run.consumer.deliver(e)
		return
	}
	piece := *e
	x.run.box.deliver(x, mail{execution: x, event: &piece})
}

// callDelta tells a piece of a tool call that a model writes.
func (x *execution) callDelta(d llmclient.CallDelta) {
	if w := x.idle; w != nil {
		w.pieces.Add(1) // as idleTimer.around does
		defer w.pieces.Add(1)
	}
	r := x.request
	if r.aside {
		return
	}
	if now := (CallDelta{Index: d.Index, CallID: d.ID, ToolName: d.Tool}); r.call != now || r.detail == nil {
		r.call, r.detail = now, now // put into an interface once a call, and not once a piece
	}
	x.emit(Event{Kind: EventCallDelta, Text: d.Text, Detail: r.detail})
}

// deliverWhole emits the text of a reply without deltas as one delta, because a client need not
// stream.
func (r *run) deliverWhole(x *execution, answer nextstep.Answer) {
	a, ok := answer.(nextstep.APIResponse)
	if !ok || a.Response == nil || x.sawDelta || r.o.heldBack() || isAside(x.effect) {
		return
	}
	e := x.event()
	r.deliverParts(&e, &a.Response.Message)
}

// isAside reports whether an effect is a request that is not part of a conversation.
func isAside(e *machine.Effect) bool {
	ask, ok := e.Step.(nextstep.GetChatCompletion)
	return ok && ask.Aside
}

// notice emits an event about what a client's wrapper does.
func (x *execution) notice(n llmclient.Notice) {
	d := RetryWaiting{Kind: n.Kind, Model: n.Model, Attempt: n.Attempt, Wait: n.Wait, Discard: n.Discard}
	if n.Err != nil && !x.run.o.heldBack() {
		d.Error = x.readError(n.Err, "the client").Error()
	}
	if x.idle != nil {
		x.idle.pause(n.Wait)
	}
	if n.Discard {
		x.sawDelta = false // the deltas so far were discarded
	}
	x.emit(Event{Kind: EventRetryWaiting, Detail: d})
}

// timedOut adds the cause to an error if the time-out of the request, not of the run, has expired.
func timedOut(request, run context.Context, err error) error {
	if request.Err() == nil || run.Err() != nil {
		return err
	}
	cause := causeOfContext(request)
	late := &llmclient.Error{Code: llmclient.CodeTimeout, Message: cause.Error(), Err: errors.Join(cause, err)}
	if e, ok := errors.AsType[*llmclient.Error](cause); ok {
		late.Message = e.Message
	}
	if e, ok := errors.AsType[*llmclient.Error](err); ok {
		late.Model, late.Partial, late.Usage, late.Attempts = e.Model, e.Partial, e.Usage, e.Attempts
	}
	return late
}
