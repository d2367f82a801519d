package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// request is what a execution asks a model, and what the pieces of the reply have in common.
type request struct {
	llmclient.Request
	event Event
}

// askModel asks a model.
func (f *execution) askModel(ctx context.Context, e *machine.Effect) (nextstep.Answer, error) {
	step, ok := e.Step.(nextstep.GetChatCompletion)
	if !ok {
		return nil, fmt.Errorf("orchestrator: a middleware made a %T of a request", e.Step)
	}
	if f.request == nil {
		f.request = new(request)
	}
	o, outer := f.run.o, ctx
	if t := o.timeouts.Model; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, fmt.Errorf("orchestrator: no reply within %v: %w", t, context.DeadlineExceeded))
		defer cancel()
	}
	var onDelta func(llmclient.Delta)
	if f.run.streams {
		onDelta = f.hear()
		if t := o.timeouts.ModelIdle; t > 0 {
			ctx, f.idle = newIdleTimer(ctx, t)
			defer func() {
				f.idle.stop()
				f.idle = nil
			}()
			onDelta = f.idle.around(onDelta)
		}
	}
	f.request.Request = step.Request // the client keeps nothing of it
	f.where = "the client"
	resp, err := o.client.Complete(f.notified(ctx), &f.request.Request, onDelta)
	f.where = ""
	if err != nil {
		return nil, timedOut(ctx, outer, f.readError(err, "the client"))
	}
	if resp == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: step.Request.Model, Message: "the client returned neither a response nor an error"}
	}
	if problem := machine.BadReply(resp); problem != "" {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Model: step.Request.Model, Message: "the client's reply " + problem, Usage: resp.Usage, Attempts: resp.Attempts}
	}
	return nextstep.APIResponse{Response: resp}, nil
}

// notified returns ctx with a function that hears what the client's wrappers do, if anybody wants
// to know. For the execution on the loop's own goroutine, which most requests are made with, it is
// made once.
func (f *execution) notified(ctx context.Context) context.Context {
	r := f.run
	switch {
	case !r.streams && r.o.logger == nil:
		return ctx
	case !f.inline || ctx != r.ctx:
		return llmclient.WithNotify(ctx, f.notice)
	case r.asking == nil:
		r.asking = llmclient.WithNotify(ctx, func(n llmclient.Notice) {
			if f := r.inline; f != nil { // else the run is over
				f.notice(n)
			}
		})
	}
	return r.asking
}

// hear returns the function that puts a model's pieces into the stream.
func (f *execution) hear() func(llmclient.Delta) {
	f.request.event = f.event()
	r := f.run
	if !f.inline {
		return f.delta
	}
	if r.onDelta == nil {
		r.onDelta = func(d llmclient.Delta) {
			if f := r.inline; f != nil { // else the run is over
				f.delta(d)
			}
		}
	}
	return r.onDelta
}

// delta tells a piece of a reply.
func (f *execution) delta(d llmclient.Delta) {
	e := &f.request.event
	f.deltas = true
	e.Kind, e.Text = EventTextDelta, d.Text
	if d.Kind == llmclient.DeltaThought {
		e.Kind = EventThoughtDelta
	}
	if f.inline {
		f.run.consumer.deliver(e)
		return
	}
	x := *e
	f.run.box.deliver(f, mail{execution: f, event: &x})
}

// deliverWhole tells a reply that came without deltas: a client need not stream.
func (r *run) deliverWhole(f *execution, answer nextstep.Answer) {
	a, ok := answer.(nextstep.APIResponse)
	if !ok || a.Response == nil || f.deltas {
		return
	}
	e := f.event()
	for _, part := range a.Response.Message.Content {
		switch c := part.(type) {
		case messages.Text:
			e.Kind, e.Text = EventTextDelta, c.Text
		case messages.Thought:
			e.Kind, e.Text = EventThoughtDelta, c.Text
		default: // calls are told when they are made
			continue
		}
		r.consumer.deliver(&e)
	}
}

// notice tells what a client's wrapper does.
func (f *execution) notice(n llmclient.Notice) {
	d := RetryWaiting{Kind: n.Kind, Model: n.Model, Attempt: n.Attempt, Wait: n.Wait, Discard: n.Discard}
	if n.Err != nil {
		d.Error = f.readError(n.Err, "the client").Error()
	}
	if f.idle != nil {
		f.idle.rest(n.Wait)
	}
	if n.Discard {
		f.deltas = false // there are none of this step any more
	}
	f.emit(Event{Kind: EventRetryWaiting, Detail: d})
}

// timedOut gives an error that came because the time for a request was over, and not that of the
// run, the cause of that.
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
