package orchestrator

import (
	"context"
	"errors"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// breakOff ends the work on a run whose consumer went away. The run has not ended: it can be
// resumed, and results that it has stay.
func (r *run) breakOff(ctx context.Context, results []messages.ToolOutput) {
	places := placed(r.partial)
	for _, o := range results {
		again := o.Status == messages.StatusFailed && o.Reason == messages.ReasonInterrupted
		if _, kept := places[o.CallID]; !kept && !again {
			r.partial = append(r.partial, o)
		}
	}
	replies, _ := r.asks().unstored()
	if r.journal != nil && (len(r.partial) > r.kept || len(replies) > 0) {
		_ = r.storeWaits(ctx, nil) // nobody is there to be told; what is not stored is done again
	}
}

// stopBefore stops the run before its pending step. Of a batch that waits, results that are there
// are kept. Of a batch that is the first step after the run was resumed nobody knows whether it had
// begun before.
func (r *run) stopBefore(cause error) nextstep.Answer {
	stop := nextstep.Stop{Reason: cause.Error(), Err: cause}
	if _, ok := r.m.pending.(nextstep.ExecuteTools); !ok {
		return stop
	}
	waits := r.people != nil && len(r.people.open) > 0
	switch first := r.call.Seq == 0; {
	case waits || len(r.partial) > 0:
		stop.Results = r.unanswered(notApproved)
	case r.resumed && first:
		stop.Results = r.unanswered(func(c messages.ToolCall) messages.ToolOutput { return mayHaveRun(c, cause) })
	}
	return stop
}

// unanswered are the results of a batch that the run is stopped in, those of its other calls made
// by missing, which is told.
func (r *run) unanswered(missing func(messages.ToolCall) messages.ToolOutput) []messages.ToolOutput {
	return r.whole(nil, func(c messages.ToolCall) messages.ToolOutput {
		out := missing(c)
		frame, depth := r.m.Frame() // of a run that is stopped as soon as it is resumed no step has begun
		e := Event{Run: r.m.Run(), Frame: frame, Depth: depth, Seq: r.m.Seq(), Time: r.now, Kind: EventToolFinished, Detail: ToolFinished{Output: out}}
		r.sink.deliver(&e)
		return out
	})
}

// notApproved answers a call that was still waiting when the run was stopped.
func notApproved(c messages.ToolCall) messages.ToolOutput {
	return messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: messages.ReasonInterrupted,
		Output: "the run was stopped while this call waited for somebody",
	}
}

// errStop is why a run ends whose Stop was closed.
var errStop = errors.New("stop was asked for")

// stopped says why the run is to be stopped before its next step; nil if it is not.
func (r *run) stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return causeOfEnd(ctx)
	}
	select {
	case <-r.stop:
		return errStop
	default:
		return nil
	}
}

// causeOfEnd is the cause of a context that is done, with its error within reach of errors.Is.
func causeOfEnd(ctx context.Context) error {
	cause := causeOfContext(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return &endError{cause: cause, err: ctx.Err()}
}

type endError struct{ cause, err error }

func (e *endError) Error() string { return e.cause.Error() }

func (e *endError) Unwrap() []error { return []error{e.cause, e.err} }

// interrupted turns the answer of a step that the end of the context cut off into a Stop that keeps
// what there is of it. A reply that arrived whole all the same is an answer.
func (r *run) interrupted(ctx context.Context, answer nextstep.Answer) nextstep.Answer {
	if ctx.Err() == nil {
		return answer
	}
	cause := causeOfEnd(ctx)
	stop := nextstep.Stop{Reason: cause.Error(), Err: cause}
	switch a := answer.(type) {
	case nextstep.ToolResults:
		if r.m.misfit(a) != "" {
			return a
		}
		stop.Results = a.Results
	case nextstep.Failure:
		stop.Partial, stop.Usage = a.Partial, a.Usage
		if r.m.pending.Kind() == nextstep.KindGetChatCompletion {
			stop.Spent.ModelCalls = 1 + len(a.Attempts)
		}
		for _, attempt := range a.Attempts {
			stop.Usage = stop.Usage.Add(attempt.Usage)
		}
		if step, ok := r.m.Pending().(nextstep.ExecuteTools); ok {
			stop.Results = unknownResults(step.Calls, cause)
		}
	default:
		return answer
	}
	return stop
}

// unknownResults answers a batch that may have run, and of which nobody said how it went.
func unknownResults(calls []messages.ToolCall, cause error) []messages.ToolOutput {
	results := make([]messages.ToolOutput, len(calls))
	for i, c := range calls {
		results[i] = mayHaveRun(c, cause)
	}
	return results
}

func mayHaveRun(c messages.ToolCall, cause error) messages.ToolOutput {
	return messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted,
		Output: "the call was interrupted, and may have had its effect: " + cause.Error(),
	}
}
