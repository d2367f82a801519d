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
	event  machine.Event
	detail machine.Detail // the CallDelta that was told last
	loop   loopWatch
	idle   *idleTimer // nil: the time without a piece is not bounded
}

// askModel asks a model.
func (x *execution) askModel(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	step, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return nil, fmt.Errorf("orchestrator: a middleware made a %T of a request", e.Step)
	}
	if !x.alone || x.request == nil { // the requests of the loop come one after another
		x.request = new(request)
	}
	o, outer := x.run.o, ctx
	if t := o.cfg.Timeouts.Model; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, fmt.Errorf("orchestrator: no reply within %v: %w", t, context.DeadlineExceeded))
		defer cancel()
	}
	if t := o.cfg.Timeouts.ModelIdle; t > 0 {
		ctx, x.request.idle = newIdleTimer(ctx, t, !x.run.streams)
		defer func() {
			x.request.idle.stop()
			x.request.idle = nil
		}()
	}
	x.request.aside = step.Aside
	x.request.Request = step.Request // the client must not keep it
	ask := x.asks(ctx)
	if !x.alone || ctx != x.run.ctx {
		defer ask.cut(nil)
	}
	x.request.event = x.event()
	x.request.loop.begin(&o.cfg.Repetition, ask.cut)
	x.inClient = true
	resp, err := o.left.complete(&x.request.Request, ask, !o.cfg.KeepTextCalls && !step.Aside)
	x.inClient = false
	if loop := &x.request.loop; resp != nil && !loop.found {
		loop.begin(loop.most, ask.cut)
		for i, c := range resp.Message.Calls() { // not every client streams them
			loop.call(llmclient.CallDelta{Index: i, Tool: c.Name, Text: c.Arguments})
		}
	}
	if x.request.loop.found && outer.Err() == nil {
		resp, err = x.cutReply(resp, err), nil
	}
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

// asking is how a run asks the client, and what it does with the pieces of the reply.
type asking struct {
	run         context.Context         // with which the run asks
	ctx         context.Context         // of the request: what the client tells goes to the run
	cut         context.CancelCauseFunc // ends ctx
	onDelta     func(llmclient.Delta)   // watches a piece and shows it; nil: nobody is shown pieces
	watch, show func(llmclient.Delta)
}

// asks returns how to ask the client with ctx. For the execution on the loop's own goroutine, which
// makes most requests, it is made once.
func (x *execution) asks(ctx context.Context) *asking {
	r := x.run
	if !x.alone || ctx != r.ctx {
		return r.asks(ctx, x)
	}
	if r.asking == nil || r.asking.ctx.Err() != nil {
		r.asking = r.asks(ctx, nil)
	}
	return r.asking
}

// asks returns how an execution asks the client. With nil it is for the execution on the loop's
// goroutine, and what comes when the run is over is told to nobody.
func (r *run) asks(ctx context.Context, x *execution) *asking {
	a := &asking{ctx: ctx, run: ctx}
	if r.observed() {
		a.ctx = llmclient.WithNotify(a.ctx, tells(r, x, (*execution).notice))
	}
	if most := &r.o.cfg.Repetition; r.streams {
		a.onDelta, a.watch, a.show = tells(r, x, (*execution).hear), tells(r, x, (*execution).watch), tells(r, x, (*execution).show)
	} else if most.Times > 0 || most.Calls > 0 || r.o.cfg.Timeouts.ModelIdle > 0 {
		a.ctx = llmclient.WithWatch(a.ctx, tells(r, x, (*execution).hear))
	}
	a.ctx = llmclient.WithCallDeltas(a.ctx, tells(r, x, (*execution).hearCall))
	a.ctx, a.cut = context.WithCancelCause(a.ctx)
	return a
}

// tells returns a function that passes what it is told to an execution; see [run.asks].
func tells[T any](r *run, x *execution, hear func(*execution, T)) func(T) {
	return func(told T) {
		to := x
		if to == nil { // only the loop's goroutine reads alone
			to = r.alone
		}
		if to != nil {
			hear(to, told)
		}
	}
}

// hear receives a piece of a reply.
func (x *execution) hear(d llmclient.Delta) {
	x.watch(d)
	x.show(d)
}

// watch notices silence and repetition.
func (x *execution) watch(d llmclient.Delta) {
	if w := x.request.idle; w != nil {
		w.pieces.Add(2)
	}
	x.request.loop.text(d.Text)
}

// show shows a piece of a reply, if anybody is shown them.
func (x *execution) show(d llmclient.Delta) {
	if !x.run.streams {
		return
	}
	if w := x.request.idle; w != nil {
		w.pieces.Add(1) // odd while the consumer handles a delta: that time does not count as the model's
		defer w.pieces.Add(1)
	}
	x.delta(d)
}

// hearCall receives a piece of a tool call that a model writes.
func (x *execution) hearCall(d llmclient.CallDelta) {
	if w := x.request.idle; w != nil {
		w.pieces.Add(1)
		defer w.pieces.Add(1)
	}
	x.request.loop.call(d)
	x.request.loop.text(d.Text)
	if x.run.streams && x.run.o.cfg.CallDeltas {
		x.callDelta(d)
	}
}

// delta emits a piece of a reply.
func (x *execution) delta(d llmclient.Delta) {
	e := &x.request.event
	if x.run.o.heldBack() || x.request.aside {
		return
	}
	x.sawDelta = true
	e.Kind, e.Text = machine.EventTextDelta, d.Text
	if d.Kind == llmclient.DeltaThought {
		e.Kind = machine.EventThoughtDelta
	}
	if x.alone {
		x.run.consumer.deliver(e)
		return
	}
	piece := *e
	x.run.box.deliver(x, mail{execution: x, event: &piece})
}

// callDelta tells a piece of a tool call that a model writes.
func (x *execution) callDelta(d llmclient.CallDelta) {
	r := x.request
	if r.aside {
		return
	}
	now := machine.CallDelta{Index: d.Index, CallID: d.ID, ToolName: d.Tool}
	if last, ok := r.detail.(machine.CallDelta); !ok || last != now {
		r.detail = now // put into an interface once a call, and not once a piece
	}
	x.emit(machine.Event{Kind: machine.EventCallDelta, Text: d.Text, Detail: r.detail})
}

// deliverWhole emits the text of a reply without deltas as one delta, because a client need not
// stream.
func (r *run) deliverWhole(x *execution, answer nextstep.Answer) {
	a, ok := answer.(nextstep.APIResponse)
	if !ok || a.Response == nil || x.sawDelta || r.o.heldBack() || isAside(&x.effect) {
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
	d := machine.RetryWaiting{Kind: n.Kind, Model: n.Model, Attempt: n.Attempt, Wait: n.Wait, Discard: n.Discard}
	if n.Err != nil && !x.run.o.heldBack() {
		d.Error = x.readError(n.Err, "the client").Error()
	}
	if x.request.idle != nil {
		x.request.idle.pause(n.Wait)
	}
	if n.Discard {
		x.sawDelta = false // the deltas so far were discarded
		x.request.loop.begin(x.request.loop.most, x.request.loop.cut)
	}
	x.emit(machine.Event{Kind: machine.EventRetryWaiting, Detail: d})
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
