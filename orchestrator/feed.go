package orchestrator

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// feed gives an answer that fits to the strategy of frame f and returns what it wants next.
func (m *Machine) feed(f *frame, answer nextstep.Answer) nextstep.NextStep {
	switch a := answer.(type) {
	case nextstep.APIResponse:
		return m.feedResponse(f, a, answer)
	case nextstep.ToolResults:
		return m.feedResults(f, a, answer)
	case nextstep.DelegationResult:
		m.charge(&tally{usage: whole(a.Output.Usage), elapsed: a.Elapsed})
		m.untrusted = m.untrusted || holdsUntrusted(a.Output.Messages)
		m.taken(StepTaken{Kind: nextstep.KindDelegate, Usage: a.Output.Usage, Elapsed: a.Elapsed, Err: a.Output.Err})
		return m.call(f, "ProcessDelegationResult", func() nextstep.NextStep { return f.st.ProcessDelegationResult(a.Output) })
	case nextstep.Failure:
		return m.feedFailure(f, a)
	default:
		stop := a.(nextstep.Stop) // misfit let nothing else through
		return m.feedStop(f, stop)
	}
}

func (m *Machine) feedResponse(f *frame, a nextstep.APIResponse, boxed nextstep.Answer) nextstep.NextStep {
	t := asked(a.Response.Usage, a.Response.Attempts, a.Elapsed)
	m.charge(&t)
	f.answers = append(f.answers, boxed)
	m.taken(StepTaken{
		Kind:    nextstep.KindGetChatCompletion,
		Model:   a.Response.Model,
		Usage:   t.usage,
		Calls:   countCalls(a.Response.Message),
		Elapsed: a.Elapsed,
	})
	return m.call(f, "ProcessAPIResponse", func() nextstep.NextStep { return f.st.ProcessAPIResponse(*a.Response) })
}

func countCalls(a messages.Assistant) int {
	n := 0
	for _, c := range a.Content {
		if _, ok := c.(messages.ToolCall); ok {
			n++
		}
	}
	return n
}

func (m *Machine) feedResults(f *frame, a nextstep.ToolResults, boxed nextstep.Answer) nextstep.NextStep {
	t := spent(a.Spent)
	t.toolCalls += len(a.Results)
	t.elapsed = a.Elapsed
	m.charge(&t)
	for _, o := range f.refused {
		m.emit(EventToolFinished, ToolFinished{Output: o})
	}
	m.taken(StepTaken{Kind: nextstep.KindExecuteTools, Calls: len(f.calls), Elapsed: a.Elapsed})
	if a.Calls != nil {
		var failed nextstep.NextStep
		if boxed, failed = m.rewrite(f, &a); failed != nil {
			return failed
		}
	}
	return m.giveResults(f, a, boxed)
}

// giveResults hands a batch to its strategy, refused calls included; boxed is the same answer.
func (m *Machine) giveResults(f *frame, a nextstep.ToolResults, boxed nextstep.Answer) nextstep.NextStep {
	if len(f.refused) > 0 {
		a.Results = f.merge(a.Results)
		boxed = a
	}
	f.calls, f.refused = nil, nil
	for i := range a.Results {
		m.untrusted = m.untrusted || a.Results[i].Untrusted
	}
	f.answers = append(f.answers, boxed)
	return m.call(f, "ProcessToolResults", func() nextstep.NextStep { return f.st.ProcessToolResults(a.Results) })
}

// feedFailure tells the strategy that its step could not be performed, or fails the frame if it
// does not want to know.
func (m *Machine) feedFailure(f *frame, a nextstep.Failure) nextstep.NextStep {
	kind := m.pending.Kind()
	t := tally{elapsed: a.Elapsed}
	if kind == nextstep.KindGetChatCompletion {
		t = asked(a.Usage, a.Attempts, a.Elapsed)
	}
	m.charge(&t)
	f.answers, f.calls = append(f.answers, a), nil
	cause := causeOf(a)
	m.taken(StepTaken{Kind: kind, Usage: t.usage, Elapsed: a.Elapsed, Err: cause})
	return m.fail(f, a, cause)
}

func causeOf(a nextstep.Failure) *delegation.Error {
	if a.Code == "" {
		a.Code = delegation.CodeFailed
	}
	if a.Message == "" {
		a.Message = "orchestrator: the step could not be performed, and nobody said why"
	}
	if a.Err != nil {
		return delegation.NewError(a.Code, a.Err)
	}
	return &delegation.Error{Code: a.Code, Message: a.Message}
}

// fail asks the strategy what to do about a failure. A strategy that does not want to know, or that
// passes the failure on as it is, fails with its cause.
func (m *Machine) fail(f *frame, a nextstep.Failure, cause *delegation.Error) nextstep.NextStep {
	h, ok := f.st.(strategy.FailureHandler)
	if !ok {
		return nextstep.ReportError{Err: cause}
	}
	a.Err = nil
	next := m.call(f, "ProcessFailure", func() nextstep.NextStep { return h.ProcessFailure(a) })
	if r, ok := next.(nextstep.ReportError); ok {
		if err := delegation.AsError(r.Err); err != nil && err.Code == a.Code && err.Unwrap() == nil {
			cause.Message = err.Message
			r.Err = cause
			return r
		}
	}
	return next
}

// feedStop ends the run: every frame unwinds, open calls are closed.
func (m *Machine) feedStop(f *frame, a nextstep.Stop) nextstep.NextStep {
	t := spent(a.Spent)
	t.toolCalls += begun(a.Results)
	t.usage, t.elapsed = t.usage.Add(whole(a.Usage)), a.Elapsed
	m.charge(&t)
	if len(a.Results) > 0 {
		for _, o := range f.refused {
			m.emit(EventToolFinished, ToolFinished{Output: o})
		}
		a.Results = f.merge(a.Results)
		f.calls, f.refused = nil, nil
	}
	f.answers = append(f.answers, a)
	return m.unwind(&ending{
		reason: a.Reason,
		err:    stoppedBy(a),
		note:   m.stopNote,
	})
}

// begun counts the calls of a batch that was cut off which had begun.
func begun(results []messages.ToolOutput) int {
	n := 0
	for _, o := range results {
		if o.Status != messages.StatusFailed || o.Reason != messages.ReasonInterrupted {
			n++
		}
	}
	return n
}

func stoppedBy(a nextstep.Stop) *delegation.Error {
	if a.Err == nil {
		return &delegation.Error{Code: delegation.CodeStopped, Message: "orchestrator: the run was stopped: " + a.Reason}
	}
	return delegation.NewError(delegation.CodeStopped, fmt.Errorf("orchestrator: the run was stopped: %w", a.Err))
}

// rewrite makes the calls as they were made those of the conversation: in what the frame was
// answered so far, and in what the strategy keeps, if it can; it fails its frame if it panics.
func (m *Machine) rewrite(f *frame, a *nextstep.ToolResults) (boxed nextstep.Answer, failed nextstep.NextStep) {
	defer func() {
		if v := recover(); v != nil {
			failed = m.panicked(f, "EditCalls", v)
		}
	}()
	for i := len(f.answers) - 1; i >= 0; i-- {
		if r, ok := f.answers[i].(nextstep.APIResponse); ok {
			resp := *r.Response
			resp.Message = resp.Message.WithCalls(a.Calls)
			r.Response = &resp
			f.answers[i] = r
			break
		}
	}
	if e, ok := f.st.(strategy.CallEditor); ok {
		e.EditCalls(a.Calls)
	}
	a.Calls = nil
	return *a, nil
}

// taken emits the event of an answered step.
func (m *Machine) taken(s StepTaken) {
	if !m.silent {
		m.emit(EventStepTaken, s)
	}
}

// call calls a method of the frame's strategy, and turns a panic into an error.
func (m *Machine) call(f *frame, method string, fn func() nextstep.NextStep) (next nextstep.NextStep) {
	defer func() {
		if v := recover(); v != nil {
			next = m.panicked(f, method, v)
		}
	}()
	next = fn()
	m.moved(f)
	if next == nil {
		return m.defect(f, method, "returned no step", nil)
	}
	return next
}

// moved emits an event if the FSM of the frame's strategy has moved.
func (m *Machine) moved(f *frame) {
	if f.stater == nil {
		return
	}
	state := f.stater.State()
	if state != f.state {
		if !m.silent {
			m.emit(EventStateChanged, m.change(StateChanged{From: f.state, To: state}))
		}
		f.state = state
	}
}

// change boxes a detail. Strategies go in circles, so the boxes of the first few changes are used
// again.
func (m *Machine) change(c StateChanged) Detail {
	for i, d := range m.changes {
		if d == nil {
			d = c
			m.changes[i] = d
		}
		if d == Detail(c) {
			return d
		}
	}
	return c
}
