package orchestrator

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// settle takes what the strategy on top wants next and runs on until a step has to be performed
// outside, or the run has ended. A nil step means that there is nothing left to settle.
func (m *Machine) settle(next nextstep.NextStep) {
	m.pending = nil
	for next != nil && m.stack.Depth() > 0 {
		f, _ := m.stack.Top()
		switch step := next.(type) {
		case nextstep.GetChatCompletion:
			next = m.ask(f, &step, next)
		case nextstep.ExecuteTools:
			next = m.execute(f, step, next)
		case nextstep.Delegate:
			next = m.delegate(f, &step)
		case nextstep.Complete:
			next = m.leave(f, f.output(step.Output))
		case nextstep.ReportError:
			out := step.Output
			out.Err = m.reported(f, step.Err)
			next = m.leave(f, f.output(out))
		default:
			next = m.defect(f, "a method", fmt.Sprintf("returned a %T, which is no step: steps are values of the types in package nextstep", next), nil)
		}
	}
}

// reported is the error of a ReportError as data. The error is the strategy's: its text may panic.
func (m *Machine) reported(f *frame, err error) (e *delegation.Error) {
	defer func() {
		if v := recover(); v != nil {
			e = delegation.AsError(m.panicked(f, "the Error method of its error", v).(nextstep.ReportError).Err)
		}
	}()
	if _, ok := err.(*delegation.Error); !ok && err != nil { //nolint:errorlint // that exact type is data already
		err = newForeignError(err, err.Error())
	}
	if e = delegation.AsError(err); e == nil {
		e = &delegation.Error{Code: delegation.CodeDefect, Message: "orchestrator: ReportError without an error"}
	}
	return e
}

// wait makes a step of frame f the pending one. Of a run with a journal it is digested first: what
// has no JSON form is performed by nobody.
func (m *Machine) wait(f *frame, step nextstep.NextStep) nextstep.NextStep {
	if m.durable {
		sum, err := f.digest(step)
		if err != nil {
			return m.defect(f, step.Kind().String(), "has no JSON form, so that no journal can name it", err)
		}
		m.stepSum = sum
	}
	m.pending, m.inner = step, 0
	return nil
}

// maxInner bounds the moves between two steps of the outside, so that strategies that only delegate
// to each other, or only call what they were not offered, end although no limit on steps holds. See
// delegation.Limits.
const maxInner = 10_000

// turn counts a move that stays inside. Where there were too many the frame has to end.
func (m *Machine) turn(f *frame) *ending {
	if m.inner++; m.inner <= maxInner {
		return nil
	}
	err := &LimitError{Run: m.run, Frame: f.name, Limit: "steps without a model or a tool", Max: maxInner}
	return &ending{last: m.stack.Depth() - 1, reason: err.Error(), err: delegation.NewError(delegation.CodeLimit, err)}
}

// ask checks a request and leaves it to the outside; boxed is the same step, so that it need not be
// boxed again.
func (m *Machine) ask(f *frame, step *nextstep.GetChatCompletion, boxed nextstep.NextStep) nextstep.NextStep {
	if len(step.Request.Messages) == 0 {
		return m.defect(f, "GetChatCompletion", "holds no messages", nil)
	}
	if err := f.laws.Check(step.Request.Messages); err != nil {
		return m.defect(f, "GetChatCompletion", "holds messages that break the laws of a history", err)
	}
	if over := m.afford(1, 0); over != nil {
		return m.unwind(over)
	}
	if h := step.Request.Messages; cap(h) > len(h) {
		step.Request.Messages = h.Clip()
		boxed = *step
	}
	f.request, f.offered = step.Request.Messages, step.Request.Tools
	f.answers = f.answers[:0]
	return m.wait(f, boxed)
}

// execute checks a batch of calls and leaves those that the frame may make to the outside; boxed is
// the same step.
func (m *Machine) execute(f *frame, step nextstep.ExecuteTools, boxed nextstep.NextStep) nextstep.NextStep {
	if len(step.Calls) == 0 {
		return m.defect(f, "ExecuteTools", "holds no calls", nil)
	}
	var ids idSet
	for _, c := range step.Calls {
		if c.ID == "" || !ids.add(c.ID) {
			return m.defect(f, "ExecuteTools", fmt.Sprintf("holds a call whose id %q is empty or not its own", c.ID), nil)
		}
	}
	admitted := f.admit(step.Calls)
	if over := m.afford(0, len(admitted)); over != nil {
		return m.unwind(over)
	}
	switch len(admitted) {
	case len(step.Calls):
		return m.wait(f, boxed)
	case 0:
		if over := m.turn(f); over != nil {
			return m.unwind(over)
		}
		return m.feedResults(f, nextstep.ToolResults{}, nil)
	default:
		return m.wait(f, nextstep.ExecuteTools{Calls: admitted})
	}
}

// delegate pushes a child, or leaves the step to the outside if the child is remote. What cannot be
// delegated is a failure of the step; a child that would stand too deep is an output with an error.
func (m *Machine) delegate(f *frame, step *nextstep.Delegate) nextstep.NextStep {
	if over := m.afford(0, 0); over != nil {
		return m.unwind(over)
	}
	if _, ok := m.set[step.Strategy]; !ok && slices.Contains(m.remote, step.Strategy) {
		return m.wait(f, m.confined(f, step))
	}
	if over := m.turn(f); over != nil {
		return m.unwind(over)
	}
	child := m.spare
	if m.spare = nil; child == nil {
		child = new(frame)
	}
	if err := m.build(child, step.Strategy); err != nil {
		unknown := nextstep.Failure{Source: nextstep.SourceStrategy, Code: delegation.CodeInvalid, Message: err.Error(), Err: err}
		m.taken(StepTaken{Kind: nextstep.KindDelegate, Err: causeOf(unknown)})
		return m.fail(f, unknown, causeOf(unknown))
	}
	f.children++
	child.name = f.name + "." + strconv.Itoa(f.children)
	child.input, child.limits = step.Input, overlay(step.Limits, noLimits)
	child.allowed = narrow(f.allowed, step.Tools)
	child.context = shared(f, step.Input)
	return m.enter(child)
}

// confined is a delegation to the outside with what the child may really use: those of its frame's
// tools, by name, and no more than what is left of the limits of the frames above it.
func (m *Machine) confined(f *frame, step *nextstep.Delegate) nextstep.Delegate {
	remote := *step
	remote.Tools = []string{}
	for _, d := range narrow(f.allowed, step.Tools) {
		remote.Tools = append(remote.Tools, d.Name)
	}
	for i, above := range m.stack.All() {
		remote.Limits = above.left(remote.Limits, m.stack.Depth()-i)
	}
	return remote
}

// shared says what a child is handed of the conversation of frame f.
func shared(f *frame, in delegation.Input) Context {
	switch n := len(in.Messages); {
	case n == 0:
		return ContextGoal
	case n >= f.length():
		return ContextAll
	default:
		return ContextChosen
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

// enter pushes a frame and starts its strategy.
func (m *Machine) enter(f *frame) nextstep.NextStep {
	m.stack.Push(f)
	m.emit(EventFrameEntered, FrameEntered{Strategy: f.strategy, Goal: f.input.Goal, Messages: len(f.input.Messages), Context: f.context})
	if err := m.tooDeep(); err != nil {
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

// tooDeep returns the depth limit that the frame on top passes, or nil.
func (m *Machine) tooDeep() error {
	for i, f := range m.stack.All() {
		if d := f.limits.Depth; d >= 0 && m.stack.Depth()-i > d {
			return &LimitError{Run: m.run, Frame: f.name, Limit: "depth", Max: int64(d)}
		}
	}
	return nil
}

// leave pops a frame and hands its output to the parent. At the root the run ends.
func (m *Machine) leave(f *frame, out delegation.Output) nextstep.NextStep {
	m.left(f, out)
	parent, ok := m.stack.Top()
	if !ok {
		m.finish(out)
		return nil
	}
	return m.call(parent, "ProcessDelegationResult", func() nextstep.NextStep { return parent.st.ProcessDelegationResult(out) })
}

// left pops a frame and tells so.
func (m *Machine) left(f *frame, out delegation.Output) {
	m.emit(EventFrameLeft, FrameLeft{Strategy: f.strategy, Result: out.Result, Usage: out.Usage, Elapsed: out.Elapsed, Err: out.Err})
	m.stack.Pop()
	if f != &m.root {
		*f = frame{}
		m.spare = f
	}
}

// finish ends the run.
func (m *Machine) finish(out delegation.Output) {
	m.output, m.status, m.pending = out, statusOf(out.Err), nil
	m.emit(EventRunFinished, RunFinished{Status: m.status, Output: out})
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

// ending says why frames have to end although their strategies did not want to.
type ending struct {
	last   int // index in the stack of the lowest frame that ends
	reason string
	err    *delegation.Error
	note   string // closes conversations that end with tool results; "" or "-": none
}

// afford counts a step if every frame on the stack can afford it. Where one cannot, that frame has
// to end, together with all that it started; at the root that ends the run.
func (m *Machine) afford(modelCalls, toolCalls int) *ending {
	for i, f := range m.stack.All() {
		if limit, most := f.used.passed(&f.limits, modelCalls, toolCalls); limit != "" {
			err := &LimitError{Run: m.run, Frame: f.name, Limit: limit, Max: most}
			return &ending{last: i, reason: err.Error(), err: delegation.NewError(delegation.CodeLimit, err)}
		}
	}
	m.seq++
	for _, f := range m.stack.All() {
		f.used.steps++
	}
	return nil
}

// unwind ends frames from the top down, each with its last output, and returns what the one below
// wants next.
func (m *Machine) unwind(e *ending) nextstep.NextStep {
	var child *delegation.Output
	for {
		f, _ := m.stack.Top()
		for _, output := range f.abandon(e.reason) {
			m.emit(EventToolFinished, ToolFinished{Output: output})
		}
		out := f.output(f.withStop(m.conclude(f, e.reason, child)))
		out.Err = e.err
		if _, open := out.Messages.Last().(messages.Tool); open && e.note != "" && e.note != "-" {
			out.Messages = append(out.Messages, messages.AssistantText(e.note)).Clip()
		}
		if m.stack.Depth() == e.last+1 {
			return m.leave(f, out)
		}
		m.left(f, out)
		child = &out
	}
}

// conclude asks a strategy for its last output, once it knows that of its child; nil: it had none.
func (m *Machine) conclude(f *frame, reason string, child *delegation.Output) (out delegation.Output) {
	defer func() {
		if v := recover(); v != nil {
			m.panicked(f, "Conclude", v)
			out = delegation.Output{}
		}
	}()
	if h, ok := f.st.(strategy.Inheritor); ok && child != nil {
		h.Inherit(*child)
	}
	if c, ok := f.st.(strategy.Concluder); ok {
		return c.Conclude(reason)
	}
	return delegation.Output{}
}

// defect fails a frame whose strategy asked for what nobody can do.
func (m *Machine) defect(f *frame, method, problem string, cause error) nextstep.NextStep {
	code := delegation.CodeDefect
	if cause != nil {
		code = delegation.CodeInvalid
	}
	return nextstep.ReportError{Err: delegation.NewError(code,
		&StrategyError{Run: m.run, Frame: f.name, Strategy: f.strategy, Method: method, Problem: problem, Err: cause})}
}

// panicked fails a frame whose strategy panicked.
func (m *Machine) panicked(f *frame, method string, v any) nextstep.NextStep {
	stack := debug.Stack()
	if m.onPanic != nil {
		m.onPanic(&PanicReport{Run: m.run, Frame: f.name, Seq: m.seq, Where: "the strategy " + f.strategy + " in " + method, Value: v, Stack: stack})
	}
	return nextstep.ReportError{Err: delegation.NewError(delegation.CodePanic, &StrategyError{
		Run: m.run, Frame: f.name, Strategy: f.strategy, Method: method, Problem: "failed", Err: &PanicError{Value: v, Stack: stack},
	})}
}
