package machine

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/segue-go/segue/delegation"
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
	if m.fillRequest(&step.Request) {
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

// fillRequest fills in missing fields of a request from the task, and clips its messages, so that
// an append copies them. It reports whether the request was changed.
func (m *Machine) fillRequest(r *llmclient.Request) (changed bool) {
	if r.Model == "" && m.started.Model != "" {
		r.Model, changed = m.started.Model, true
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
	child, err := m.newChild(f, step.Strategy, step.Input, step.Limits, step.Tools)
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
