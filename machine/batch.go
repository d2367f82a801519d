package machine

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// execute makes each call of a batch a separate effect, or opens the branches of a call of an
// agent. Calls that the frame may not make are answered at once.
func (m *Machine) execute(f *frame, next nextstep.NextStep) nextstep.NextStep {
	calls := next.(nextstep.ExecuteTools).Calls
	if len(calls) == 0 {
		return m.defect(f, "ExecuteTools", "holds no calls", nil)
	}
	ids, again := map[string]bool{}, m.repeated(f, calls)
	offered, outside := 0, 0
	for i := range calls {
		id := calls[i].ID
		if id == "" || ids[id] {
			return m.defect(f, "ExecuteTools", fmt.Sprintf("holds a call whose id %q is empty or a duplicate", id), nil)
		}
		ids[id] = true
		var e effect
		if m.lookUp(&e, f, &calls[i]); e.def != nil && (again == nil || !again[i]) {
			offered++
			if e.agent == nil {
				outside++
			}
		}
	}
	limit := m.reserve(f, 0, offered)
	if limit == nil && outside == 0 {
		limit = m.countInnerMove(f)
	}
	told := limit != nil && m.tellLimit(f, limit)
	if limit != nil && !told {
		f.seq = m.seq
		m.answerUnstarted(f, calls, limit.reason)
		return m.endAtLimit(f, limit)
	}
	m.makeBatch(f, calls)
	m.park(f, onBatch)
	b := &f.batch
	b.starting = true
	for i := range b.calls {
		switch e := &b.calls[i]; {
		case e.def == nil:
			m.endCall(e, m.callOutput(e, messages.StatusFailed, ReasonNotOffered, f.refusal(&e.call)))
		case again != nil && again[i]:
			e.reserved = delegation.Counts{}
			m.endCall(e, m.callOutput(e, messages.StatusFailed, messages.ReasonRepetition, textRepetition))
		case told:
			out := notStarted(e.call, limit.reason)
			out.Reason, e.reserved = messages.ReasonLimit, delegation.Counts{}
			m.endCall(e, out)
		default:
			m.judge(e)
		}
	}
	b.starting = false
	m.startCalls(f)
	return nil
}

// makeBatch makes the batch of a frame.
func (m *Machine) makeBatch(f *frame, calls []messages.ToolCall) {
	b := &f.batch
	room := b.calls
	if cap(room) < len(calls) {
		room = make([]effect, len(calls))
	}
	b.calls, b.results, b.unanswered = room[:len(calls)], make([]messages.ToolOutput, len(calls)), len(calls)
	for i := range calls {
		e := &b.calls[i]
		*e = effect{}
		e.id, e.kind, e.frame = EffectID{Seq: f.seq, Index: i + 1}, EffectTool, f
		e.call = canonicalCall(calls[i]) // so that live answers and replayed ones name it in the same way
		if m.lookUp(e, f, &e.call); e.def != nil {
			e.reserved.ToolCalls = 1
			if m.cfg.Durable && e.agent == nil {
				e.digest = digestOf(&e.call)
			}
		}
	}
}

// lookUp finds the tool of a call, if frame f may make the call.
func (m *Machine) lookUp(e *effect, f *frame, c *messages.ToolCall) {
	def, own := f.tool(c.Name, c.ID)
	switch e.def = def; {
	case def == nil:
	case own >= 0:
		e.own, e.agent = f.own[own], f.agents[own]
	default:
		e.agent = m.cfg.Agents[c.Name]
	}
}

// answerUnstarted gives results to the calls of a batch that is not started because its frame ends.
// The strategy does not see the results.
func (m *Machine) answerUnstarted(f *frame, calls []messages.ToolCall, reason string) {
	results := make([]messages.ToolOutput, 0, len(calls))
	for _, c := range calls {
		results = append(results, notStarted(c, reason))
		m.emit(f, EventToolFinished, ToolFinished{Output: results[len(results)-1]})
	}
	f.addAnswer(frameAnswer{results: results}, true)
}

// ReasonNotStarted is the reason of a result whose call was never made because its frame ended.
const ReasonNotStarted = "not_started"

// textRepetition is the text of a result with messages.ReasonRepetition.
const textRepetition = "this call was not made: it was made before with the same arguments and had the same result, and nothing has changed since"

func notStarted(c messages.ToolCall, reason string) messages.ToolOutput {
	return messages.ToolOutput{
		CallID: c.ID, ToolName: c.Name, Status: messages.StatusFailed, Reason: ReasonNotStarted,
		Output: "the call was not started: " + reason,
	}
}

// callOutput returns a result that the Machine itself gives to a call. The status of a call that
// may have had its effect is unknown, not failed.
func (m *Machine) callOutput(e *effect, status messages.Status, reason, text string) messages.ToolOutput {
	if e.unsure {
		status = messages.StatusUnknown
	}
	return messages.ToolOutput{CallID: e.call.ID, ToolName: e.call.Name, Status: status, Reason: reason, Output: text}
}

// toolStarted emits the event of a call that starts for the first time.
func (m *Machine) toolStarted(e *effect) {
	if e.kind == EffectTool && !e.started && !m.cfg.Quiet {
		m.emitFor(e.frame, e.id.Seq, EventToolStarted, ToolStarted{Call: e.call})
	}
	e.started = true
}

// startCalls proceeds with the calls of a batch. They run in parallel, except that a call of a
// Sequential tool waits for the calls before it, and the calls after it wait for it.
func (m *Machine) startCalls(f *frame) {
	b := &f.batch
	if b.starting {
		return
	}
	b.starting = true
	for b.next < len(b.calls) && !b.alone && f.parked == onBatch {
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
		e.inTurn = true
		if e.state == blocked {
			m.proceed(e)
		}
	}
	b.starting = false
}

// proceed queues an effect, unless it waits for a person or for earlier calls of its batch.
func (m *Machine) proceed(e *effect) {
	if e.isWaiting() {
		return
	}
	m.move(e, blocked)
	switch {
	case e.frame.parked == onBatch && !e.inTurn:
	case e.agent != nil:
		m.openBranches(e)
	default:
		m.enqueue(e)
	}
}

// endCall gives a call its result. The last result of a batch schedules its frame.
func (m *Machine) endCall(e *effect, out messages.ToolOutput) {
	f, b := e.frame, &e.frame.batch
	m.closeWaits(e)
	m.move(e, ended)
	m.withdrawIntent(e)
	b.results[e.id.Index-1] = out
	if !m.cfg.Quiet {
		m.emitFor(f, e.id.Seq, EventToolFinished, ToolFinished{Output: out})
	}
	if e.inTurn {
		b.running--
		b.alone = b.alone && !e.def.Sequential
	}
	if b.unanswered--; b.unanswered == 0 {
		m.unpark(f)
		m.tasks = append(m.tasks, frameTask{frame: f, batch: true})
		return
	}
	m.startCalls(f)
}

// batchAnswered passes the results of a batch to its strategy, in the order of the calls.
func (m *Machine) batchAnswered(f *frame) {
	m.noteCalls(f)
	b := &f.batch
	results, made, cut := b.results, b.made, b.cut && m.endingOf(f) != nil
	for i := range results {
		if results[i].Untrusted {
			f.branch.taint(b.calls[i].id.String() + " " + b.calls[i].call.Name)
		}
	}
	m.stepTaken(f, StepTaken{Kind: nextstep.KindExecuteTools, Calls: len(results), Elapsed: b.elapsed})
	failed := m.inheritBranches(f)
	*b = batch{calls: b.calls[:0]}
	if failed != nil && !cut {
		m.schedule(f, failed)
		return
	}
	if made != nil {
		if failed := m.rewriteCalls(f, made); failed != nil {
			m.schedule(f, failed)
			return
		}
	}
	f.addAnswer(frameAnswer{results: results}, cut)
	if cut {
		m.unwind(f, nil)
		return
	}
	m.schedule(f, m.process(f, "ProcessToolResults", func() nextstep.NextStep { return f.st.ProcessToolResults(results) }))
}

// rewriteCalls replaces calls in the conversation by the calls as they were made: in the frame's
// answers so far, and in the strategy's own messages if it is a CallEditor. If the strategy panics,
// its frame fails.
func (m *Machine) rewriteCalls(f *frame, made []messages.ToolCall) (failed nextstep.NextStep) {
	defer func() {
		if v := recover(); v != nil {
			failed = nextstep.ReportError{Err: m.brokeDown(f, "EditCalls", v)}
		}
	}()
	for i := len(f.answers) - 1; i >= 0; i-- {
		if f.answers[i].reply != nil {
			resp := *f.answers[i].reply
			resp.Message = resp.Message.WithCalls(made)
			f.answers[i].reply = &resp
			break
		}
	}
	if e, ok := f.st.(strategy.CallEditor); ok {
		e.EditCalls(made)
	}
	return nil
}

// noteMade notes a call as it was made.
func (b *batch) noteMade(e *effect, c messages.ToolCall) {
	if c.Name != e.call.Name || c.Arguments != e.call.Arguments {
		b.keepMade(e, c)
	}
}

// keepMade is noteMade for a call that was made in another way than the model wrote it.
func (b *batch) keepMade(e *effect, c messages.ToolCall) {
	if b.made == nil {
		b.made = make([]messages.ToolCall, len(b.calls))
		for i := range b.calls {
			b.made[i] = b.calls[i].call
		}
	}
	b.made[e.id.Index-1] = c
}

// callAnswered ends a call with the result of its tool, or with the reason why it could not be
// made.
func (m *Machine) callAnswered(e *effect, r *Answered) {
	b := &e.frame.batch
	b.elapsed += r.Elapsed
	m.charge(e.frame, &usage{elapsed: r.Elapsed})
	switch a := r.Answer.(type) {
	case nextstep.ToolResult:
		if a.Call != nil {
			b.noteMade(e, *a.Call)
		}
		b.cut = b.cut || m.endingOf(e.frame) != nil && a.Output.Reason == messages.ReasonInterrupted
		m.endCall(e, a.Output)
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
