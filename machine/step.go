package machine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/internal/textcut"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// frameTask is a task for a frame that must be done before Apply returns.
type frameTask struct {
	frame  *frame
	next   nextstep.NextStep  // take this step of its strategy
	batch  bool               // pass it the results of its calls
	unwind bool               // end it
	child  *delegation.Output // output of an ended child, for unwind
}

// runFrames performs the tasks of frames until every frame is parked, sleeps, or has ended.
func (m *Machine) runFrames() {
	for i := 0; i < len(m.tasks); i++ {
		t := m.tasks[i]
		m.tasks[i] = frameTask{}
		switch {
		case t.unwind:
			m.unwind(t.frame, t.child)
		case t.batch:
			m.batchAnswered(t.frame)
		default:
			m.takeStep(t.frame, t.next)
		}
	}
	m.tasks = m.tasks[:0]
}

// schedule adds the task to take the next step of a frame.
func (m *Machine) schedule(f *frame, next nextstep.NextStep) {
	m.tasks = append(m.tasks, frameTask{frame: f, next: next})
}

// takeStep takes a step of a frame, as far as this needs no effect. A step beyond the limits ends
// the frame.
func (m *Machine) takeStep(f *frame, next nextstep.NextStep) {
	f.replied = nil
	for next != nil {
		if end := m.endingOf(f); end != nil && !ends(next) {
			if step, ok := next.(nextstep.ExecuteTools); ok {
				m.answerUnstarted(f, step.Calls, end.reason)
			}
			m.unwind(f, nil)
			return
		}
		switch next.(type) { // each variant has its own function, as in Apply
		case nextstep.GetChatCompletion:
			next = m.askModel(f, next)
		case nextstep.ExecuteTools:
			next = m.execute(f, next)
		case nextstep.Delegate:
			next = m.delegate(f, next)
		case nextstep.Complete, nextstep.ReportError:
			if ends(next) {
				m.complete(f, next)
				return
			}
			next = m.handOff(f, next)
		default:
			next = m.defect(f, "a method", fmt.Sprintf("returned a %v, which is not a step: steps are values of the types in package nextstep", reflect.TypeOf(next)), nil)
		}
	}
	f.aside = messages.Assistant{}
}

// ends reports whether a step ends its frame, and nothing takes its place.
func ends(s nextstep.NextStep) bool {
	switch s := s.(type) {
	case nextstep.Complete:
		return s.Handoff == nil
	case nextstep.ReportError:
		return true
	default:
		return false
	}
}

// complete ends a frame with the last step of its strategy.
func (m *Machine) complete(f *frame, next nextstep.NextStep) {
	var out delegation.Output
	switch step := next.(type) {
	case nextstep.Complete:
		out = f.withUnseen(step.Output)
	case nextstep.ReportError:
		out = f.withUnseen(step.Output)
		out.Err = m.reported(f, step.Err)
		if out.Err.Code == delegation.CodeLimit {
			out.Err = cmp.Or(m.limitTold(f), out.Err)
		}
	}
	m.leave(f, f.output(out))
}

// maxInnerMoves is the maximum of steps without an effect that one record may cause. So strategies
// that only delegate to each other, or only call tools that were not offered, end even without a
// limit on steps. See delegation.Limits.
const maxInnerMoves = 10_000

// countInnerMove counts a step without an effect. If there were too many, it returns the ending of
// the frame.
func (m *Machine) countInnerMove(f *frame) *ending {
	if m.innerMoves++; m.innerMoves <= maxInnerMoves {
		return nil
	}
	return m.limitReached(f, "steps without a model or a tool", maxInnerMoves)
}

// endAtLimit ends the frame whose limit was reached, and thereby f.
func (m *Machine) endAtLimit(f *frame, e *ending) nextstep.NextStep {
	m.markEnding(e)
	for g := f; g != e.frame; g = g.up {
		if g.call != nil { // other branches may be at work
			m.closeBelow(e)
			break
		}
	}
	m.unwind(f, nil)
	return nil
}

// askModel checks a request and makes it an effect.
func (m *Machine) askModel(f *frame, boxed nextstep.NextStep) nextstep.NextStep {
	step := boxed.(nextstep.GetChatCompletion)
	if len(step.Request.Messages) == 0 {
		return m.defect(f, "GetChatCompletion", "holds no messages", nil)
	}
	check := f.laws.Check
	if step.Aside { // so that the laws go on with the conversation afterwards
		check = messages.History.Validate
	}
	if err := check(step.Request.Messages); err != nil {
		return m.defect(f, "GetChatCompletion", "holds messages that break the laws of a history", err)
	}
	if limit := m.reserve(f, 1, 0); limit != nil {
		return m.endAtLimit(f, limit)
	}
	if step.Compacted != nil {
		m.emit(f, EventCompacted, Compacted(*step.Compacted))
	}
	if m.fillRequest(f, &step.Request) {
		boxed = step
	}
	if step.Aside { // the conversation of the frame stays what it was
		f.offered = nil
		return m.openStep(f, EffectModel, boxed, delegation.Counts{ModelCalls: 1})
	}
	f.request, f.offered = step.Request.Messages, step.Request.Tools
	clear(f.answers)
	f.answers, f.unseen = f.answers[:0], nil
	return m.openStep(f, EffectModel, boxed, delegation.Counts{ModelCalls: 1})
}

// fillRequest fills in missing fields of a request from its frame and the task, and clips its
// messages, so that an append copies them. It reports whether the request was changed.
func (m *Machine) fillRequest(f *frame, r *llmclient.Request) (changed bool) {
	if usual := cmp.Or(f.model, m.started.Model); r.Model == "" && usual != "" {
		r.Model, changed = usual, true
	}
	if r.Temperature == nil && m.started.Temperature != nil {
		r.Temperature, changed = m.started.Temperature, true
	}
	if cap(r.Messages) > len(r.Messages) {
		r.Messages, changed = r.Messages.Clip(), true
	}
	return changed
}

// openStep makes a step of frame f its single effect. In a run with a journal the step is digested
// first: a step without a JSON form is an error.
func (m *Machine) openStep(f *frame, kind EffectKind, step nextstep.NextStep, reserved delegation.Counts) nextstep.NextStep {
	e := &f.effect
	*e = effect{}
	e.id, e.kind, e.frame, e.step, e.reserved = EffectID{Seq: f.seq}, kind, f, step, reserved
	if m.cfg.Durable {
		sum, err := f.digest(step)
		if err != nil {
			m.refund(e)
			return m.defect(f, step.Kind().String(), "has no JSON form, so that no journal can name it", err)
		}
		e.digest = sum
	}
	m.park(f, onEffect)
	m.enqueue(e)
	return nil
}

// delegate pushes a child frame, or makes the step an effect if the child is remote. An impossible
// delegation is a failure of the step; a child beyond the depth limit gives an output with an
// error.
func (m *Machine) delegate(f *frame, next nextstep.NextStep) nextstep.NextStep {
	step := next.(nextstep.Delegate)
	if _, ok := m.cfg.Strategies[step.Strategy]; !ok && slices.Contains(m.cfg.Remote, step.Strategy) {
		return m.delegateRemote(f, &step)
	}
	limit := m.reserve(f, 0, 0)
	if limit == nil {
		limit = m.countInnerMove(f)
	}
	if limit != nil {
		return m.endAtLimit(f, limit)
	}
	child, err := m.newChild(f, &step)
	if err != nil {
		cause := &delegation.Error{Code: delegation.CodeInvalid, Message: err.Error()}
		m.stepTaken(f, StepTaken{Kind: nextstep.KindDelegate, Err: cause})
		return m.fail(f, nextstep.Failure{Source: nextstep.SourceStrategy, Code: cause.Code, Message: cause.Message}, delegation.NewError(cause.Code, err))
	}
	m.schedule(child, m.enter(child))
	return nil
}

// delegateRemote makes a delegation an effect. The effect names the tools of the frame that the
// child may use, and its limits are at most what is left of the limits above it.
func (m *Machine) delegateRemote(f *frame, step *nextstep.Delegate) nextstep.NextStep {
	if limit := m.reached(f, stepOf(1, 1)); limit != nil {
		return m.endAtLimit(f, limit)
	}
	if limit := m.reserve(f, 0, 0); limit != nil {
		return m.endAtLimit(f, limit)
	}
	remote := *step
	remote.Model = cmp.Or(step.Model, f.model)
	limits := m.remaining(f).tighter(amountsOf(step.Limits).or(noLimits))
	switch {
	case limits[depth] == 0:
		if limit := m.countInnerMove(f); limit != nil {
			return m.endAtLimit(f, limit)
		}
		err := m.limitReached(f, limitNames[depth], f.limits[depth]).err
		out := delegation.Output{Err: err}
		m.stepTaken(f, StepTaken{Kind: nextstep.KindDelegate, Err: err})
		return m.process(f, "ProcessDelegationResult", func() nextstep.NextStep { return f.st.ProcessDelegationResult(out) })
	case limits[steps] == 0:
		if limit := m.reached(f, stepOf(1, 1)); limit != nil {
			return m.endAtLimit(f, limit)
		}
	}
	remote.Limits = limits.limits()
	if limits[handoffs] == 0 {
		remote.Limits.Handoffs = 1 // the least that can be said: zero is the default there
	}
	remote.Tools = []string{}
	for _, d := range narrow(f.allowed, step.Tools) {
		remote.Tools = append(remote.Tools, d.Name)
	}
	reserved := delegation.Counts{Steps: max(0, remote.Limits.Steps), ModelCalls: max(0, remote.Limits.ModelCalls), ToolCalls: max(0, remote.Limits.ToolCalls), Handoffs: int(max(0, limits[handoffs]))}
	m.charge(f, &usage{Counts: reserved})
	return m.openStep(f, EffectRemote, remote, reserved)
}

// shareOf says how much of the conversation of frame f a child is given.
func shareOf(f *frame, in delegation.Input) Share {
	switch n := len(in.Messages); {
	case n == 0:
		return ShareGoal
	case n >= f.length():
		return ShareAll
	default:
		return ShareChosen
	}
}

// narrow returns the allowed tools with the given names; nil names mean all.
func narrow(allowed []tools.Definition, names []string) []tools.Definition {
	if names == nil {
		return allowed
	}
	var narrowed []tools.Definition
	for _, d := range allowed {
		if slices.Contains(names, d.Name) {
			narrowed = append(narrowed, d)
		}
	}
	return narrowed
}

// frameEntered emits the event of a frame that begins. It is separate from enter to keep the stack
// small while a strategy runs.
func (m *Machine) frameEntered(f *frame) {
	entered := FrameEntered{Strategy: f.strategy, Goal: f.input.Goal, Messages: len(f.input.Messages), Context: f.context, Limits: m.mayUse(f).limits()}
	if f.call != nil {
		entered.CallID, entered.Tool = f.call.call.ID, f.call.call.Name
	}
	entered.After = f.after
	m.emit(f, EventFrameEntered, entered)
}

// enter starts the strategy of a frame that has its place in the tree.
func (m *Machine) enter(f *frame) nextstep.NextStep {
	m.frameEntered(f)
	m.compareTable(f)
	if err := m.tooDeep(f); err != nil {
		return nextstep.ReportError{Err: delegation.NewError(delegation.CodeLimit, err)}
	}
	return m.call(f, "Initialize", func() nextstep.NextStep {
		f.readState()
		if u, ok := f.st.(strategy.ToolUser); ok {
			u.UseTools(slices.Clip(f.allowed))
		}
		return f.st.Initialize(f.input)
	})
}

// tooDeep returns an error if the frame exceeds a depth limit, and nil otherwise.
func (m *Machine) tooDeep(f *frame) (err error) {
	for g, deep := f, int64(1); g != nil; g, deep = g.up, deep+1 {
		if most := g.limits[depth]; most >= 0 && deep > most {
			err = &LimitError{Run: m.run, Frame: g.name, Limit: limitNames[depth], Max: most}
		}
	}
	return err
}

// leave ends a frame: its output goes to the parent, or becomes the result of a call, or ends the
// run.
func (m *Machine) leave(f *frame, out delegation.Output) {
	m.frameLeft(f, &out, "")
	up, call := f.up, f.call
	switch {
	case call != nil:
		m.leaveBranch(f, &out)
	case up == nil:
		m.finish(f, out)
		return
	default:
		m.schedule(up, m.process(up, "ProcessDelegationResult", func() nextstep.NextStep { return up.st.ProcessDelegationResult(out) }))
	}
	m.recycle(f)
}

// frameLeft emits the event of a frame that ended. The successor is "" if nothing takes its place.
func (m *Machine) frameLeft(f *frame, out *delegation.Output, successor string) {
	if f.ending != nil {
		m.endingFrames--
	}
	m.emit(f, EventFrameLeft, FrameLeft{Strategy: f.strategy, Result: out.Result, Usage: out.Usage, Cost: out.Cost, Unpriced: out.Unpriced, Elapsed: out.Elapsed, Err: out.Err, Handoff: successor})
}

// finish ends the run. The metadata may be the strategy's own, and are not written to.
func (m *Machine) finish(root *frame, out delegation.Output) {
	out.Metadata = maps.Clone(out.Metadata)
	_ = out.Metadata.Set(delegation.MetadataRun, delegation.RunMetadata{
		Strategy: root.strategy, Limits: root.limits.limits(), Left: m.remaining(root).limits(),
	})
	m.output, m.status = out, statusOf(out.Err)
	m.unheard()
	m.emitFor(root, m.seq, EventRunFinished, m.Finished(m.status, out))
}

func statusOf(err *delegation.Error) Status {
	switch {
	case err == nil:
		return StatusDone
	case err.Code == delegation.CodeLimit:
		return StatusLimit
	case err.Code == delegation.CodeStopped:
		return StatusStopped
	default:
		return StatusFailed
	}
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

// Agent is a strategy that is called as a tool.
type Agent = strategy.Agent

// AgentOf returns the agent of a tool: the result of its method Agent() *Agent, or of the same
// method of a tool that it wraps (Unwrap() tools.Tool). It returns nil if the tool is not an agent.
func AgentOf(t tools.Tool) *Agent {
	for t != nil {
		if a, ok := t.(interface{ Agent() *Agent }); ok {
			return a.Agent()
		}
		u, ok := t.(interface{ Unwrap() tools.Tool })
		if !ok {
			return nil
		}
		t = u.Unwrap()
	}
	return nil
}

// branch is a stack of frames that answers a call; the branch of the root answers none. If one
// frame of a branch reads text from outside, all of its frames are marked as untrusted.
type branch struct {
	untrusted bool
	source    string // the first source of untrusted text, for people
	news      int    // see Machine.news
}

// taint marks the branch as untrusted.
func (b *branch) taint(source string) {
	if !b.untrusted {
		b.untrusted, b.source = true, source
	}
}

// branches holds the branches of one call.
type branches struct {
	open    int  // number of branches that have not ended
	several bool // the results become a list
	results []branchResult
	tainted bool
}

type branchResult struct {
	text   string
	failed bool
	ended  *strategy.BranchOutput // for a BranchInheritor
}

// openBranches starts the branches of a call.
func (m *Machine) openBranches(e *effect) {
	m.toolStarted(e)
	inputs, several, refused := m.agentInputs(e)
	if refused != nil {
		m.endCall(e, *refused)
		return
	}
	m.move(e, nested)
	e.branches = &branches{open: len(inputs), several: several, results: make([]branchResult, len(inputs))}
	for i := range inputs {
		m.openBranch(e, i, inputs[i])
	}
}

// agentInputs calls the agent's Inputs, which is foreign code, and so is its error. If there are no
// inputs, it returns the result of the call instead.
func (m *Machine) agentInputs(e *effect) (inputs []delegation.Input, several bool, refused *messages.ToolOutput) {
	refuse := func(reason, text string) {
		out := m.callOutput(e, messages.StatusFailed, reason, text)
		inputs, refused = nil, &out
	}
	defer func() {
		if v := recover(); v != nil {
			refuse(tools.ReasonPanic, fmt.Sprintf("machine: the agent %s %v", e.call.Name, m.panicked(e.frame, "the agent "+e.call.Name, v)))
		}
	}()
	inputs, several, err := e.agent.Inputs(e.call.Arguments)
	switch {
	case err != nil:
		reason := tools.ReasonError
		if guard.Finite(err) {
			if _, ok := errors.AsType[*tools.ArgumentError](err); ok {
				reason = tools.ReasonArguments
			}
		}
		refuse(reason, err.Error())
	case len(inputs) == 0:
		refuse(tools.ReasonError, fmt.Sprintf("machine: the agent %s was given no input", e.call.Name))
	case e.agent.Branches > 0 && len(inputs) > e.agent.Branches:
		refuse(tools.ReasonError, fmt.Sprintf("machine: the agent %s was given %d inputs, more than %d", e.call.Name, len(inputs), e.agent.Branches))
	}
	return inputs, several, refused
}

// openBranch starts the branch for one input.
func (m *Machine) openBranch(e *effect, i int, in delegation.Input) {
	caller := e.frame
	f, err := m.newChild(caller, &nextstep.Delegate{Strategy: e.agent.Strategy, Input: in, Limits: e.agent.Limits, Tools: e.agent.Tools, Model: e.agent.Model})
	if err != nil {
		r := branchResult{text: err.Error(), failed: true}
		r.ended = caller.inherits(e, delegation.Output{Err: &delegation.Error{Code: delegation.CodeInvalid, Message: err.Error()}}, true)
		m.branchEnded(e, i, r)
		return
	}
	b := &branch{untrusted: caller.branch.untrusted, source: caller.branch.source}
	if holdsUntrusted(in.Messages) {
		b.taint("the input of " + e.id.String())
	}
	f.branch, f.call, f.place = b, e, i
	m.schedule(f, m.enter(f))
}

// branchEnded stores the result of a branch; the last result ends the call.
func (m *Machine) branchEnded(e *effect, i int, r branchResult) {
	b := e.branches
	b.results[i] = r
	if b.open--; b.open > 0 {
		return
	}
	text, failed := b.results[0].text, b.results[0].failed
	if b.several {
		text, failed = b.gathered()
	}
	status, reason := messages.StatusOK, ""
	if failed {
		status, reason = messages.StatusFailed, tools.ReasonError
	}
	out := m.callOutput(e, status, reason, textcut.Fit(text, m.maxResult(e.def)))
	out.Untrusted = b.tainted || e.def.Untrusted
	m.endCall(e, out)
}

// gathered joins the results of several branches into one. The joined result is a failure only if
// all branches failed.
func (b *branches) gathered() (string, bool) {
	texts, failed := make([]string, len(b.results)), 0
	for i, r := range b.results {
		if texts[i] = r.text; r.failed {
			failed++
			texts[i] = "failed: " + r.text
		}
	}
	data, err := json.Marshal(texts)
	if err != nil { // a list of strings always has a JSON form
		return err.Error(), true
	}
	return string(data), failed == len(texts)
}

// leaveBranch converts the output of a branch's first frame to the result of its call.
func (m *Machine) leaveBranch(f *frame, out *delegation.Output) {
	e, r := f.call, branchResult{text: out.Text()}
	if out.Err != nil {
		var text strings.Builder
		fmt.Fprintf(&text, "machine: agent %s ended as %s: %s", e.call.Name, statusOf(out.Err), out.Err.Message)
		if r.text != "" {
			text.WriteString("\nIt had reached this:\n" + r.text)
		}
		r = branchResult{text: text.String(), failed: true}
	}
	r.ended = e.frame.inherits(e, *out, false)
	e.branches.tainted = e.branches.tainted || f.branch.untrusted
	m.branchEnded(e, f.place, r)
}

// inherits returns the output of a branch as the caller's strategy will receive it; nil if that
// strategy does not want it.
func (f *frame) inherits(e *effect, out delegation.Output, noChild bool) *strategy.BranchOutput {
	if _, ok := f.st.(strategy.BranchInheritor); !ok {
		return nil
	}
	return &strategy.BranchOutput{CallID: e.call.ID, NoChild: noChild, Output: out}
}

// inheritBranches passes the outputs of the branches of a batch to a strategy that wants them. If
// it panics, its frame fails.
func (m *Machine) inheritBranches(f *frame) (failed nextstep.NextStep) {
	h, ok := f.st.(strategy.BranchInheritor)
	if !ok {
		return nil
	}
	var outs []strategy.BranchOutput
	for i := range f.batch.calls {
		if b := f.batch.calls[i].branches; b != nil {
			for _, r := range b.results {
				if r.ended != nil {
					outs = append(outs, *r.ended)
				}
			}
		}
	}
	if len(outs) == 0 {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			failed = nextstep.ReportError{Err: m.brokeDown(f, "InheritBranches", v)}
		}
	}()
	h.InheritBranches(outs)
	return nil
}

// maxResult returns how many bytes of a tool's result are kept.
func (m *Machine) maxResult(def *tools.Definition) int {
	if def.MaxResult != 0 {
		return def.MaxResult
	}
	return cmp.Or(m.started.MaxResult, tools.DefaultMaxResult)
}

// panicked reports a panic in foreign code, and returns it as an error.
func (m *Machine) panicked(f *frame, where string, v any) *PanicError {
	p := &PanicError{Value: v, Stack: debug.Stack()}
	if m.cfg.OnPanic != nil {
		report := PanicReport{Run: m.run, Where: where, Value: v, Stack: p.Stack}
		if f != nil {
			report.Frame, report.Seq = f.name, f.seq
		}
		func() {
			defer func() { _ = recover() }() // OnPanic may panic too
			m.cfg.OnPanic(report)
		}()
	}
	return p
}
