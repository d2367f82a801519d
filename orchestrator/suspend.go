package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// suspended deals with a step that waits for somebody.
func (r *run) suspended(ctx context.Context, err error) (nextstep.Answer, []Wait) {
	s, ok := errors.AsType[*SuspendedError](err)
	if !ok {
		s = new(SuspendedError)
	}
	if len(s.Waits) == 0 {
		s.Waits = []Wait{{Kind: WaitStep, Text: err.Error()}}
	}
	if _, ok := r.m.pending.(nextstep.ExecuteTools); ok {
		r.partial = append(r.partial, s.Results...)
	}
	if cause := r.stopped(ctx); cause != nil {
		stop := nextstep.Stop{Reason: cause.Error(), Err: cause}
		if _, ok := r.m.pending.(nextstep.ExecuteTools); ok {
			stop.Results = r.unanswered(notApproved)
		}
		return stop, nil
	}
	return nil, r.identified(s.Waits)
}

// identified fills in what waits do not say themselves. Their ids differ.
func (r *run) identified(waits []Wait) []Wait {
	known := map[string]bool{}
	var list []Wait
	for _, w := range waits {
		w.Run, w.Frame, w.Seq = either(w.Run, r.m.Run()), either(w.Frame, r.call.Frame), either(w.Seq, r.call.Seq)
		w.Kind = either(w.Kind, WaitStep)
		if w.ID == "" {
			w.ID = w.identity()
		}
		if !known[w.ID] {
			known[w.ID], list = true, append(list, w)
		}
	}
	return list
}

// completed puts the parts of a batch together that was made in parts.
func (r *run) completed(answer nextstep.Answer) nextstep.Answer {
	if len(r.partial) == 0 {
		return answer
	}
	switch a := answer.(type) {
	case nextstep.ToolResults:
		if mismatch(r.remaining(r.m.pending.(nextstep.ExecuteTools).Calls), a.Results) == "" {
			a.Results = r.whole(a.Results, notApproved)
			return a
		}
	case nextstep.Failure: // of the rest; what there is stays
		broken := func(c messages.ToolCall) messages.ToolOutput {
			return brokenResults([]messages.ToolCall{c}, errors.New(a.Message))[0]
		}
		return nextstep.ToolResults{Results: r.whole(nil, broken), Elapsed: a.Elapsed}
	}
	return answer
}

// beginAgain leaves out of a step what the run had done of it before it was resumed.
func (r *run) beginAgain() {
	c := &r.call
	c.Replies = slices.Clone(r.asks().replies)
	if step, ok := c.Step.(nextstep.ExecuteTools); ok && len(r.partial) > 0 {
		c.Step = nextstep.ExecuteTools{Calls: r.remaining(step.Calls)}
	}
}

// suspend ends the run as waiting.
func (r *run) suspend(ctx context.Context, waits []Wait) {
	told := r.asks().asked()
	for _, w := range waits {
		if !told[w.ID] {
			r.call.emit(Event{Kind: EventWaitStarted, Detail: WaitStarted{Wait: w}})
		}
	}
	r.sink.drain()
	if err := r.storeWaits(ctx, waits); err != nil {
		r.broken(err, r.soFarOfBatch())
		return
	}
	out := r.m.soFar(r.soFarOfBatch())
	spent, _, _ := r.people.settled()
	out.Usage = out.Usage.Add(spent.Usage)
	e := r.m.rootEvent(EventRunFinished, RunFinished{Status: StatusWaiting, Output: out, Waits: waits})
	e.Time = time.Now()
	r.sink.last(&e, r.unansweredError(waits))
}

// unansweredError is the error of a run that waits: nil if it can be resumed, and no reply was
// refused.
func (r *run) unansweredError(waits []Wait) error {
	refused := r.asks().refusal()
	if r.journal == nil {
		return &UnansweredError{Run: r.m.Run(), Waits: waits, Err: refused}
	}
	return refused
}

// storeWaits keeps what a run waits for, and what there is of the step that waits.
func (r *run) storeWaits(ctx context.Context, waits []Wait) error {
	if r.journal == nil {
		return nil
	}
	replies, answered := r.asks().unstored()
	return r.append(ctx, &entry{
		Type: entryWait, At: r.now, Seq: r.m.Seq(), Frame: r.call.Frame,
		Waits: waits, Results: r.partial[r.kept:], Replies: replies, Answered: answered, Calls: r.asks().edited,
		Spent: r.asks().spent, Held: r.people.held,
	})
}

// soFarOfBatch is what there is of a batch that waits; nil if the pending step is none.
func (r *run) soFarOfBatch() nextstep.Answer {
	if _, ok := r.m.pending.(nextstep.ExecuteTools); !ok {
		return nil
	}
	return nextstep.Stop{Results: r.whole(nil, waiting)}
}

// waiting stands for the result of a call that waits for somebody.
func waiting(c messages.ToolCall) messages.ToolOutput {
	return messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: tools.ReasonSuspended,
		Output: "this call waits for somebody",
	}
}

// remaining returns those calls of a batch that have no result yet.
func (r *run) remaining(calls []messages.ToolCall) []messages.ToolCall {
	var left []messages.ToolCall
	done := placed(r.partial)
	for _, c := range calls {
		if _, ok := done[c.ID]; !ok {
			left = append(left, c)
		}
	}
	return left
}

// whole puts the results of a batch together that was made in parts: a call without a result is
// answered by missing.
func (r *run) whole(results []messages.ToolOutput, missing func(messages.ToolCall) messages.ToolOutput) []messages.ToolOutput {
	calls := r.m.pending.(nextstep.ExecuteTools).Calls
	all := make([]messages.ToolOutput, 0, len(calls))
	before, now := placed(r.partial), placed(results)
	for _, c := range calls {
		if i, ok := before[c.ID]; ok {
			all = append(all, r.partial[i])
		} else if i, ok := now[c.ID]; ok {
			all = append(all, results[i])
		} else {
			all = append(all, missing(c))
		}
	}
	return all
}

// soFar is the output of a run that is not done: the conversation of its root. What the pending
// step was answered, if it is the root's, is added; nil is nothing.
func (m *Machine) soFar(answer nextstep.Answer) delegation.Output {
	root := *m.stack.All()[0]
	if answer != nil && m.stack.Depth() == 1 {
		root.answers = append(slices.Clip(root.answers), answer)
	}
	return root.output(delegation.Output{})
}
