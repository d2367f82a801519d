package machine

import (
	"fmt"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// execute makes each call of a batch an effect of its own, or opens the branches of those that call
// agents. Calls that the frame may not make are answered at once.
func (m *Machine) execute(f *frame, next nextstep.NextStep) nextstep.NextStep {
	calls := next.(nextstep.ExecuteTools).Calls
	if len(calls) == 0 {
		return m.defect(f, "ExecuteTools", "holds no calls", nil)
	}
	var ids idSet
	offered, outside := 0, 0
	for i := range calls {
		if id := calls[i].ID; id == "" || !ids.add(id) {
			return m.defect(f, "ExecuteTools", fmt.Sprintf("holds a call whose id %q is empty or not its own", id), nil)
		}
		var e effect
		if m.lookUp(&e, f, calls[i].Name); e.def != nil {
			offered++
			if e.agent == nil {
				outside++
			}
		}
	}
	over := m.reserve(f, 0, offered)
	if over == nil && outside == 0 {
		over = m.turn(f)
	}
	if over != nil {
		f.seq = m.seq
		f.abandon(m, calls, over.reason)
		return m.over(f, over)
	}
	m.fill(f, calls)
	m.rest(f, atBatch)
	b := &f.batch
	b.passing = true
	for i := range b.calls {
		if e := &b.calls[i]; e.def == nil {
			m.endCall(e, m.callOutput(e, messages.StatusFailed, ReasonNotOffered, f.refusal(e.call.Name)))
		} else {
			m.judge(e)
		}
	}
	b.passing = false
	m.pass(f)
	return nil
}

// fill makes the batch of a frame.
func (m *Machine) fill(f *frame, calls []messages.ToolCall) {
	b := &f.batch
	room := b.calls
	if cap(room) < len(calls) {
		room = make([]effect, len(calls))
	}
	b.calls, b.results, b.left = room[:len(calls)], make([]messages.ToolOutput, len(calls)), len(calls)
	for i := range calls {
		e := &b.calls[i]
		*e = effect{}
		e.id, e.kind, e.frame = EffectID{Seq: f.seq, Index: i + 1}, EffectTool, f
		e.call, _ = soundCall(calls[i]) // so that answers name it alike, live and in a replay
		if m.lookUp(e, f, e.call.Name); e.def != nil {
			e.reserved.ToolCalls = 1
			if m.cfg.Durable && e.agent == nil {
				e.digest = digestOf(&e.call)
			}
		}
	}
}

// lookUp finds the tool that frame f means by a name, if it may call it.
func (m *Machine) lookUp(e *effect, f *frame, name string) {
	def, own := f.tool(name)
	switch e.def = def; {
	case def == nil:
	case own >= 0:
		e.own, e.agent = f.own[own], f.agents[own]
	default:
		e.agent = m.cfg.Agents[name]
	}
}

// abandon answers the calls of a batch that is not started, since its frame ends. The strategy is
// not told.
func (f *frame) abandon(m *Machine, calls []messages.ToolCall, reason string) {
	results := make([]messages.ToolOutput, 0, len(calls))
	for _, c := range calls {
		results = append(results, notStarted(c, reason))
		m.emit(f, EventToolFinished, ToolFinished{Output: results[len(results)-1]})
	}
	f.hear(heard{results: results}, true)
}

// ReasonNotStarted is the reason of a result whose call was never made, since its frame ended.
const ReasonNotStarted = "not_started"

func notStarted(c messages.ToolCall, reason string) messages.ToolOutput {
	return messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: ReasonNotStarted,
		Output: "the call was not started: " + reason,
	}
}

// callOutput makes a result of a call that nobody else makes. A call that may have had its effect
// has not simply failed.
func (m *Machine) callOutput(e *effect, status messages.Status, reason, text string) messages.ToolOutput {
	if e.unsure {
		status = messages.StatusUnknown
	}
	return messages.ToolOutput{CallID: e.call.ID, ToolName: e.call.Name, Status: status, Reason: reason, Output: text}
}

// toolStarted tells that a call begins, the first time.
func (m *Machine) toolStarted(e *effect) {
	if e.kind == EffectTool && !e.started && !m.cfg.Quiet {
		m.emitFor(e.frame, e.id.Seq, EventToolStarted, ToolStarted{Call: e.call})
	}
	e.started = true
}

// pass lets the calls of a batch go on whose turn it is: all, but that one which must not run
// beside others waits for those before it, and those behind wait for it.
func (m *Machine) pass(f *frame) {
	b := &f.batch
	if b.passing {
		return
	}
	b.passing = true
	for b.next < len(b.calls) && !b.alone && f.rests == atBatch {
		e := &b.calls[b.next]
		if e.state == ended {
			b.next++
			continue
		}
		if e.def.Sequential {
			if b.running > 0 {
				break
			}
			b.alone = true
		}
		b.next++
		b.running++
		e.passed = true
		m.proceed(e)
	}
	b.passing = false
}

// proceed performs a call, if it is its turn and nobody has to say anything about it first.
func (m *Machine) proceed(e *effect) {
	switch {
	case e.frame.rests == atBatch && !e.passed || e.state != blocked:
	case e.agent != nil:
		m.openBranches(e)
	default:
		m.enqueue(e)
	}
}

// endCall gives a call its result. With the last result of a batch its frame is due.
func (m *Machine) endCall(e *effect, out messages.ToolOutput) {
	f, b := e.frame, &e.frame.batch
	m.closeWaits(e)
	m.move(e, ended)
	m.forget(e)
	b.results[e.id.Index-1] = out
	if !m.cfg.Quiet {
		m.emitFor(f, e.id.Seq, EventToolFinished, ToolFinished{Output: out})
	}
	if e.passed {
		b.running--
		b.alone = b.alone && !e.def.Sequential
	}
	if b.left--; b.left == 0 {
		m.wake(f)
		m.work = append(m.work, due{frame: f, batch: true})
		return
	}
	m.pass(f)
}

// gather gives the results of a batch to its strategy, in call order.
func (m *Machine) gather(f *frame) {
	b := &f.batch
	results, made, cut := b.results, b.made, b.cut
	for i := range results {
		if results[i].Untrusted {
			f.branch.taint(b.calls[i].id.String() + " " + b.calls[i].call.Name)
		}
	}
	m.taken(f, StepTaken{Kind: nextstep.KindExecuteTools, Calls: len(results), Elapsed: b.elapsed})
	b.calls, b.results, b.made, b.left, b.next, b.running = b.calls[:0], nil, nil, 0, 0, 0
	b.alone, b.passing, b.cut, b.elapsed = false, false, false, 0
	if made != nil {
		if failed := m.rewrite(f, made); failed != nil {
			m.goOn(f, failed)
			return
		}
	}
	cut = cut && m.endingOf(f) != nil
	f.hear(heard{results: results}, cut)
	if cut {
		m.unwind(f, nil)
		return
	}
	m.goOn(f, m.call(f, "ProcessToolResults", func() nextstep.NextStep { return f.st.ProcessToolResults(results) }))
}

// rewrite makes the calls as they were made those of the conversation: in what the frame was
// answered so far, and in what the strategy keeps, if it can; it fails its frame if it panics.
func (m *Machine) rewrite(f *frame, made []messages.ToolCall) (failed nextstep.NextStep) {
	defer func() {
		if v := recover(); v != nil {
			failed = nextstep.ReportError{Err: m.brokeDown(f, "EditCalls", v)}
		}
	}()
	for i := len(f.heard) - 1; i >= 0; i-- {
		if f.heard[i].reply != nil {
			resp := *f.heard[i].reply
			resp.Message = resp.Message.WithCalls(made)
			f.heard[i].reply = &resp
			break
		}
	}
	if e, ok := f.st.(strategy.CallEditor); ok {
		e.EditCalls(made)
	}
	return nil
}

// edited notes a call as it was made.
func (b *batch) edited(e *effect, c messages.ToolCall) {
	if c.Name == e.call.Name && c.Arguments == e.call.Arguments {
		return
	}
	if b.made == nil {
		b.made = make([]messages.ToolCall, len(b.calls))
		for i := range b.calls {
			b.made[i] = b.calls[i].call
		}
	}
	b.made[e.id.Index-1] = c
}

// callAnswered ends a call with what its tool left, or with why it could not be made.
func (m *Machine) callAnswered(e *effect, a nextstep.Answer, elapsed time.Duration) {
	b := &e.frame.batch
	b.elapsed += elapsed
	m.charge(e.frame, &tally{elapsed: elapsed})
	switch a := a.(type) {
	case nextstep.ToolResult:
		if a.Call != nil {
			b.edited(e, *a.Call)
		}
		out := a.Output
		out.ToolName = either(out.ToolName, e.call.Name)
		out.Status = either(out.Status, messages.StatusOK)
		b.cut = b.cut || m.endingOf(e.frame) != nil && out.Reason == messages.ReasonInterrupted
		m.endCall(e, out)
	case nextstep.Failure:
		status, reason := messages.StatusUnknown, tools.ReasonError
		if e.safe() {
			status = messages.StatusFailed
		}
		if a.Code == delegation.CodePanic {
			reason = tools.ReasonPanic
		}
		if m.cutOff(e.frame) {
			b.cut, reason = true, messages.ReasonInterrupted
		}
		out := m.callOutput(e, status, reason, a.Message)
		out.Untrusted = e.def.Untrusted
		m.endCall(e, out)
	}
}
