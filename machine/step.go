package machine

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// settle goes on with the frames that are due until each rests, sleeps, or has ended.
func (m *Machine) settle() {
	for i := 0; i < len(m.work); i++ {
		d := m.work[i]
		m.work[i] = due{}
		switch {
		case d.unwind:
			m.unwind(d.frame, d.child)
		case d.batch:
			m.gather(d.frame)
		default:
			m.take(d.frame, d.next)
		}
	}
	m.work = m.work[:0]
}

// goOn has a frame taken up again with what its strategy wants next.
func (m *Machine) goOn(f *frame, next nextstep.NextStep) {
	m.work = append(m.work, due{frame: f, next: next})
}

// take does what a frame wants, as far as it can be done here. A step for which there is no place
// in the run any more ends the frame.
func (m *Machine) take(f *frame, next nextstep.NextStep) {
	for next != nil {
		if end := m.endingOf(f); end != nil && !isFinal(next) {
			if step, ok := next.(nextstep.ExecuteTools); ok {
				f.abandon(m, step.Calls, end.reason)
			}
			m.unwind(f, nil)
			return
		}
		switch next.(type) { // each variant has a function, as in Apply
		case nextstep.GetChatCompletion:
			next = m.ask(f, next)
		case nextstep.ExecuteTools:
			next = m.execute(f, next)
		case nextstep.Delegate:
			next = m.delegate(f, next)
		case nextstep.Complete, nextstep.ReportError:
			m.complete(f, next)
			return
		default:
			next = m.defect(f, "a method", fmt.Sprintf("returned a %v, which is no step: steps are values of the types in package nextstep", reflect.TypeOf(next)), nil)
		}
	}
}

// isFinal reports whether a step ends its frame.
func isFinal(s nextstep.NextStep) bool {
	switch s.(type) {
	case nextstep.Complete, nextstep.ReportError:
		return true
	default:
		return false
	}
}

// complete ends a frame by its own last step.
func (m *Machine) complete(f *frame, next nextstep.NextStep) {
	var out delegation.Output
	switch step := next.(type) {
	case nextstep.Complete:
		out = f.withUntold(step.Output)
	case nextstep.ReportError:
		out = f.withUntold(step.Output)
		out.Err = m.reported(f, step.Err)
	}
	m.leave(f, f.output(out))
}

// maxInner bounds the moves that one record brings about, so that strategies that only delegate to
// each other, or only call what they were not offered, end although no limit on steps holds. See
// delegation.Limits.
const maxInner = 10_000

// turn counts a move that stays inside. Where there were too many the frame has to end.
func (m *Machine) turn(f *frame) *ending {
	if m.inner++; m.inner <= maxInner {
		return nil
	}
	return m.limitReached(f, "steps without a model or a tool", maxInner)
}

// over ends what a limit says has to end, f among it.
func (m *Machine) over(f *frame, e *ending) nextstep.NextStep {
	m.ends(e)
	for g := f; g != e.frame; g = g.up {
		if g.call != nil { // others may work beside it
			m.close(e)
			break
		}
	}
	m.unwind(f, nil)
	return nil
}

// ask checks a request and makes it an effect.
func (m *Machine) ask(f *frame, boxed nextstep.NextStep) nextstep.NextStep {
	step := boxed.(nextstep.GetChatCompletion)
	if len(step.Request.Messages) == 0 {
		return m.defect(f, "GetChatCompletion", "holds no messages", nil)
	}
	if err := f.laws.Check(step.Request.Messages); err != nil {
		return m.defect(f, "GetChatCompletion", "holds messages that break the laws of a history", err)
	}
	if over := m.reserve(f, 1, 0); over != nil {
		return m.over(f, over)
	}
	if h := step.Request.Messages; cap(h) > len(h) {
		step.Request.Messages = h.Clip()
		boxed = step
	}
	f.request, f.offered = step.Request.Messages, step.Request.Tools
	clear(f.heard)
	f.heard, f.untold = f.heard[:0], nil
	return m.outside(f, EffectModel, boxed, counts{ModelCalls: 1})
}

// outside makes a step of frame f its one effect. Of a run with a journal it is digested first:
// what has no JSON form is performed by nobody.
func (m *Machine) outside(f *frame, kind EffectKind, step nextstep.NextStep, reserved counts) nextstep.NextStep {
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
	m.rest(f, atEffect)
	m.enqueue(e)
	return nil
}

// delegate pushes a child, or makes the step an effect if the child is remote. What cannot be
// delegated is a failure of the step; a child that would stand too deep is an output with an error.
func (m *Machine) delegate(f *frame, next nextstep.NextStep) nextstep.NextStep {
	step := next.(nextstep.Delegate)
	if _, ok := m.cfg.Strategies[step.Strategy]; !ok && slices.Contains(m.cfg.Remote, step.Strategy) {
		return m.delegateOutside(f, &step)
	}
	over := m.reserve(f, 0, 0)
	if over == nil {
		over = m.turn(f)
	}
	if over != nil {
		return m.over(f, over)
	}
	child := m.newFrame()
	if err := m.build(child, step.Strategy); err != nil {
		m.recycle(child)
		cause := &delegation.Error{Code: delegation.CodeInvalid, Message: err.Error()}
		m.taken(f, StepTaken{Kind: nextstep.KindDelegate, Err: cause})
		return m.fail(f, nextstep.Failure{Source: nextstep.SourceStrategy, Code: cause.Code, Message: cause.Message}, delegation.NewError(cause.Code, err))
	}
	child.input, child.limits = step.Input, overlay(step.Limits, noLimits)
	child.allowed, child.branch = narrow(f.allowed, step.Tools), f.branch
	child.context = shared(f, step.Input)
	m.child(f, child)
	m.goOn(child, m.enter(child))
	return nil
}

// delegateOutside makes a delegation an effect, with what the child may really use: those of its
// frame's tools, by name, and no more than what is left of the limits of the frames above it.
func (m *Machine) delegateOutside(f *frame, step *nextstep.Delegate) nextstep.NextStep {
	if over := m.passed(f, 1, 1); over != nil {
		return m.over(f, over)
	}
	if over := m.reserve(f, 0, 0); over != nil {
		return m.over(f, over)
	}
	remote := *step
	remote.Limits = f.share(step.Limits)
	switch {
	case remote.Limits.Depth == 0:
		if over := m.turn(f); over != nil {
			return m.over(f, over)
		}
		err := m.limitReached(f, "depth", int64(f.limits.Depth)).err
		out := delegation.Output{Err: err}
		m.taken(f, StepTaken{Kind: nextstep.KindDelegate, Err: err})
		return m.call(f, "ProcessDelegationResult", func() nextstep.NextStep { return f.st.ProcessDelegationResult(out) })
	case remote.Limits.Steps == 0:
		if over := m.passed(f, 1, 1); over != nil {
			return m.over(f, over)
		}
	}
	remote.Tools = []string{}
	for _, d := range narrow(f.allowed, step.Tools) {
		remote.Tools = append(remote.Tools, d.Name)
	}
	held := remoteCounts(remote.Limits)
	m.charge(f, &tally{counts: held})
	return m.outside(f, EffectRemote, remote, held)
}

// shared says what a child is handed of the conversation of frame f.
func shared(f *frame, in delegation.Input) Share {
	switch n := len(in.Messages); {
	case n == 0:
		return ShareGoal
	case n >= f.length():
		return ShareAll
	default:
		return ShareChosen
	}
}

// narrow returns those of the allowed tools that are named; nil names mean all.
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

// enter starts the strategy of a frame that has its place.
func (m *Machine) enter(f *frame) nextstep.NextStep {
	entered := FrameEntered{Strategy: f.strategy, Goal: f.input.Goal, Messages: len(f.input.Messages), Context: f.context}
	if f.call != nil {
		entered.CallID, entered.Tool = f.call.call.ID, f.call.call.Name
	}
	m.emit(f, EventFrameEntered, entered)
	m.compareTable(f)
	if err := m.tooDeep(f); err != nil {
		return nextstep.ReportError{Err: delegation.NewError(delegation.CodeLimit, err)}
	}
	return m.call(f, "Initialize", func() nextstep.NextStep {
		if f.stater != nil {
			f.state = f.stater.State()
		}
		if u, ok := f.st.(strategy.ToolUser); ok {
			u.UseTools(slices.Clip(f.allowed))
		}
		return f.st.Initialize(f.input)
	})
}

// tooDeep returns the depth limit that a frame passes, or nil.
func (m *Machine) tooDeep(f *frame) (over error) {
	for g, deep := f, 1; g != nil; g, deep = g.up, deep+1 {
		if most := g.limits.Depth; most >= 0 && deep > most {
			over = &LimitError{Run: m.run, Frame: g.name, Limit: "depth", Max: int64(most)}
		}
	}
	return over
}

// leave ends a frame: the parent is told, or its output is the result of a call, or the run ends.
func (m *Machine) leave(f *frame, out delegation.Output) {
	m.left(f, &out)
	up, call := f.up, f.call
	switch {
	case call != nil:
		m.leaveBranch(f, &out)
	case up == nil:
		m.finish(f, out)
		return
	default:
		m.goOn(up, m.call(up, "ProcessDelegationResult", func() nextstep.NextStep { return up.st.ProcessDelegationResult(out) }))
	}
	m.recycle(f)
}

// left tells that a frame ended.
func (m *Machine) left(f *frame, out *delegation.Output) {
	if f.ending != nil {
		m.endings--
	}
	m.emit(f, EventFrameLeft, FrameLeft{Strategy: f.strategy, Result: out.Result, Usage: out.Usage, Elapsed: out.Elapsed, Err: out.Err})
}

// finish ends the run.
func (m *Machine) finish(root *frame, out delegation.Output) {
	m.output, m.status = out, statusOf(out.Err)
	m.emitFor(root, m.seq, EventRunFinished, RunFinished{Status: m.status, Output: out})
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

// taken emits the event of an answered step.
func (m *Machine) taken(f *frame, s StepTaken) {
	if !m.cfg.Quiet {
		m.emit(f, EventStepTaken, s)
	}
}

// emit adds an event of a frame, with the number of its last step.
func (m *Machine) emit(f *frame, kind EventKind, detail Detail) { m.emitFor(f, f.seq, kind, detail) }

// emitFor adds an event of a step of a frame. It is filled in where it lies: to copy one costs more
// than all else here.
func (m *Machine) emitFor(f *frame, seq int, kind EventKind, detail Detail) {
	m.index++
	n := len(m.out.Events)
	m.out.Events = slices.Grow(m.out.Events, 1)[:n+1]
	e := &m.out.Events[n]
	e.Run, e.Frame, e.Depth, e.Seq, e.Record, e.Index = m.run, f.name, f.depth, seq, m.records, m.index
	e.Kind, e.Text, e.Detail, e.Time = kind, "", detail, time.Time{}
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
