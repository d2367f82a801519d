package orchestrator

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// tellResumed tells that a run goes on, and with what.
func (r *run) tellResumed() {
	if !r.resumed {
		return
	}
	e := r.m.rootEvent(EventRunResumed, RunResumed{Strategy: r.m.root.strategy, Goal: r.m.root.input.Goal})
	e.Time = r.now
	r.sink.deliver(&e)
	for _, reply := range r.fresh {
		e.Kind, e.Detail = EventWaitEnded, WaitEnded{WaitID: reply.WaitID, Reply: &reply}
		r.sink.deliver(&e)
	}
}

// tell yields events and reports whether anybody still listens. The error of the run comes with its
// last event.
func (r *run) tell(events []Event) bool {
	if len(events) == 0 {
		return r.sink.listening()
	}
	for _, e := range events {
		e.Time = r.now
		if e.Kind == EventRunFinished {
			return r.sink.last(&e, outcome(r.m.output.Err))
		}
		if !r.sink.deliver(&e) {
			return false
		}
	}
	return true
}

// tellWhole tells a reply that came without deltas: a client need not stream.
func (r *run) tellWhole(answer nextstep.Answer) {
	a, ok := answer.(nextstep.APIResponse)
	if !ok || a.Response == nil || r.delta.Seq == r.call.Seq {
		return
	}
	tell := r.deltas()
	for _, part := range a.Response.Message.Content {
		switch c := part.(type) {
		case messages.Text:
			tell(llmclient.Delta{Kind: llmclient.DeltaText, Text: c.Text})
		case messages.Thought:
			tell(llmclient.Delta{Kind: llmclient.DeltaThought, Text: c.Text})
		default: // calls are told when they are made
		}
	}
}

// event returns an event of the step in progress, with the time at which it began.
func (r *run) event() Event {
	c := &r.call
	return Event{Run: c.Run, Frame: c.Frame, Depth: c.Depth, Seq: c.Seq, Time: c.start}
}

// deltas returns the function that puts a model's pieces into the stream.
func (r *run) deltas() func(llmclient.Delta) {
	if r.onDelta == nil {
		r.onDelta = func(d llmclient.Delta) {
			if r.delta.Seq != r.call.Seq {
				r.delta = r.event()
			}
			r.delta.Kind, r.delta.Text = EventTextDelta, d.Text
			if d.Kind == llmclient.DeltaThought {
				r.delta.Kind = EventThoughtDelta
			}
			r.sink.deliver(&r.delta)
		}
	}
	return r.onDelta
}

// notice tells what a client's wrapper does.
func (r *run) notice(n llmclient.Notice) {
	d := RetryWaiting{Kind: n.Kind, Model: n.Model, Attempt: n.Attempt, Wait: n.Wait, Discard: n.Discard}
	if n.Err != nil {
		d.Error = r.foreign(n.Err, "the client").Error()
	}
	if r.watch != nil {
		r.watch.rest(n.Wait)
	}
	if n.Discard {
		r.delta.Seq = 0 // there are none of this step any more
	}
	r.call.emit(Event{Kind: EventRetryWaiting, Detail: d})
}
