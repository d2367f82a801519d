package machine

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// ending says why a frame, and everything it started, must end before its strategy completes: a
// limit was reached, or it was stopped. Waits are closed at once. Effects in progress finish, and
// their answers are passed to the strategy unless they were cut off. After that only the last step
// of a strategy is accepted. Frames end from the innermost outwards, each with its last output, and
// no frame ends while one of its effects is open.
type ending struct {
	frame  *frame
	reason string
	err    *delegation.Error
	note   string // message that closes a conversation ending with tool results; "" or "-": none
	now    bool   // effects in progress are cut off
}

// endingOf returns why a frame must end: the ending of the highest frame above it that has one; nil
// if the frame may continue.
func (m *Machine) endingOf(f *frame) (e *ending) {
	if m.endingFrames == 0 {
		return nil
	}
	for ; f != nil; f = f.up {
		if f.ending != nil {
			e = f.ending
		}
	}
	return e
}

// cutOff reports whether the effects in progress of a frame are cut off.
func (m *Machine) cutOff(f *frame) bool {
	if m.endingFrames == 0 {
		return false
	}
	for ; f != nil; f = f.up {
		if f.ending != nil && f.ending.now {
			return true
		}
	}
	return false
}

// below reports whether f is top, or is below top.
func (f *frame) below(top *frame) bool {
	for f != nil && f.depth > top.depth {
		f = f.up
	}
	return f == top
}

// end begins the end of a frame: it closes everything that the frame started and that is not in
// progress.
func (m *Machine) end(e *ending) {
	m.markEnding(e)
	m.closeBelow(e)
}

// markEnding marks a frame as ending.
func (m *Machine) markEnding(e *ending) {
	if e.frame.ending == nil {
		m.endingFrames++
		e.frame.ending = e
	} else if e.now {
		e.frame.ending.now = true
	}
}

// closeBelow closes the open effects below an ending frame, unless they are in progress. Frames
// without open effects are then scheduled to end.
func (m *Machine) closeBelow(e *ending) {
	for _, f := range m.frames() {
		if !f.below(e.frame) {
			continue
		}
		if f.parked == onEffect {
			m.closeOrCut(&f.effect, e)
			continue
		}
		b := &f.batch
		b.starting = true // start no more of its calls
		for i := range b.calls {
			m.closeOrCut(&b.calls[i], e)
		}
		b.starting = false
	}
}

// closeOrCut closes an effect, unless it is in progress; then it cuts the effect off if the ending
// says so.
func (m *Machine) closeOrCut(e *effect, end *ending) {
	switch {
	case e.state == ended || e.state == nested:
		return
	case !e.performed():
		m.closeEffect(e, end)
		return
	case e.state == asking:
		m.closeWaits(e)
		m.move(e, open)
	case e.state == queued: // it has its replies, and continues with them
		m.release(e)
	}
	if end.now && !e.pending {
		m.out.Withdrawn = append(m.out.Withdrawn, e.id)
	}
}

// closeEffect ends an effect that is not in progress.
func (m *Machine) closeEffect(e *effect, end *ending) {
	f := e.frame
	m.refundUnbegun(e)
	if e.kind != EffectTool {
		m.closeWaits(e)
		m.withdrawIntent(e)
		m.move(e, ended)
		m.unpark(f)
		m.tasks = append(m.tasks, frameTask{frame: f, unwind: true})
		return
	}
	out := notStarted(e.call, end.reason)
	if e.state == waiting || e.begun {
		out = m.callOutput(e, messages.StatusFailed, messages.ReasonInterrupted, "the run was stopped while this call waited for somebody")
		if end.err.Code == delegation.CodeLimit {
			out.Output = "the call was closed while it waited for somebody: " + end.reason
		}
	}
	f.batch.cut = true
	m.endCall(e, out)
}

// unwind ends a frame with its last output. If its strategy has no result, the result is the
// partial text of a reply that was cut off. Then the frame above is scheduled: it must end too, or,
// if only this frame was to end, it gets the output.
func (m *Machine) unwind(f *frame, child *delegation.Output) {
	e := m.endingOf(f)
	out := f.output(f.withUnseen(m.conclude(f, e.reason, child)))
	if out.Err = e.err; out.Result == nil {
		out.Result = f.arrived()
	}
	if _, last := out.Messages.Last().(messages.Tool); last && e.note != "" && e.note != "-" {
		out.Messages = append(out.Messages, messages.AssistantText(e.note)).Clip()
	}
	if f == e.frame {
		m.leave(f, out)
		return
	}
	if f.call != nil {
		f.up.batch.cut = true
		m.leave(f, out)
		return
	}
	up := f.up
	m.frameLeft(f, &out, "")
	m.recycle(f)
	m.tasks = append(m.tasks, frameTask{frame: up, unwind: true, child: &out})
}

// conclude asks a strategy for its last output, after passing it the output of its child; nil means
// that it had no child.
func (m *Machine) conclude(f *frame, reason string, child *delegation.Output) (out delegation.Output) {
	defer func() {
		if v := recover(); v != nil {
			_ = m.brokeDown(f, "Conclude", v)
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

// stopped applies a Stopped: it begins the end of a frame.
func (m *Machine) stopped(rec Record) error {
	r := rec.(Stopped)
	canonicalStopped(&r)
	f := m.root
	if r.Frame != "" && r.Frame != "0" {
		if f = m.named(r.Frame); f == nil {
			return &answerError{run: m.run, frame: r.Frame, problem: "there is no such frame to stop"}
		}
	}
	m.begin(r.At)
	f.hasNews()
	reason := r.Reason
	m.end(&ending{
		frame: f, reason: reason, note: m.started.StopNote, now: r.Now,
		err: &delegation.Error{Code: delegation.CodeStopped, Message: "machine: the run was stopped: " + reason},
	})
	return nil
}

// named returns the frame with a name; nil if there is none.
func (m *Machine) named(name string) *frame {
	for _, f := range m.frames() {
		for ; f != nil; f = f.up {
			if f.name == name {
				return f
			}
		}
	}
	return nil
}

// oneHandoff returns the amounts that a handoff uses of the limits.
func oneHandoff() amounts {
	more := stepOf(0, 0)
	more[handoffs] = 1
	return more
}

// handOff ends a frame whose strategy names a successor. The successor takes its place: it has its
// name, its parent or call, its limits and usage, and the notes that it has not heard. The stack
// does not grow. A handoff that is not possible is the error of the frame.
func (m *Machine) handOff(f *frame, boxed nextstep.NextStep) nextstep.NextStep {
	step := boxed.(nextstep.Complete)
	limit := m.reached(f, oneHandoff())
	if limit == nil {
		limit = m.countInnerMove(f)
	}
	if limit != nil {
		return m.endAtLimit(f, limit)
	}
	known, broken := m.successors(f)
	if broken != nil {
		return nextstep.ReportError{Err: broken}
	}
	next, err := m.successor(f, step.Handoff, known)
	if err != nil {
		return m.defect(f, "Complete", "names a successor that cannot take its place", err)
	}
	m.seq++
	f.seq, next.seq = m.seq, m.seq
	m.charge(f, &usage{Counts: delegation.Counts{Steps: 1, Handoffs: 1}})
	out := f.output(f.withUnseen(step.Output))
	m.frameLeft(f, &out, next.strategy)
	next.used = f.used
	if f == m.root {
		next.trunk = *f.branch
		next.branch = &next.trunk
		m.root = next
	}
	if holdsUntrusted(next.input.Messages) {
		next.branch.taint("the input of a successor")
	}
	m.recycle(f)
	m.schedule(next, m.enter(next))
	return nil
}

// successors returns the strategies that a frame may hand off to. The error says that its strategy
// panicked.
func (m *Machine) successors(f *frame) (known []string, broken *delegation.Error) {
	defer func() {
		if v := recover(); v != nil {
			broken = m.brokeDown(f, "Names", v)
		}
	}()
	return append([]string{}, strategy.NamesOf(f.st).Handoffs...), nil
}

// successor returns a frame that can take the place of f. It lacks the usage that f still adds.
func (m *Machine) successor(f *frame, s *nextstep.Handoff, known []string) (*frame, error) {
	if !slices.Contains(known, s.Strategy) {
		return nil, fmt.Errorf("%.64q is not among its Handoffs, which are %q", s.Strategy, known)
	}
	next := m.newFrame()
	if err := m.build(next, s.Strategy); err != nil {
		m.recycle(next)
		return nil, err
	}
	next.name, next.depth, next.up, next.branch = f.name, f.depth, f.up, f.branch
	next.call, next.place, next.after = f.call, f.place, f.strategy
	next.input, next.context = s.Input, shareOf(f, s.Input)
	next.limits, next.began, next.children, next.heard, next.told = f.limits, f.began, f.children, f.heard, f.told
	next.allowed, next.model = narrow(f.allowed, s.Tools), f.model
	return next, nil
}
