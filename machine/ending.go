package machine

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
)

// ending says why a frame, and all that it started, has to end although its strategy did not want
// to: a limit is reached, or it was stopped. What waits is closed at once. What is performed comes
// to its end, and its answer is given to its strategy, unless it was cut off; no step but the last
// is taken any more; and frames end from below, each with its last output. Nothing ends over an
// effect that is open.
type ending struct {
	frame  *frame
	reason string
	err    *delegation.Error
	note   string // closes conversations that end with tool results; "" or "-": none
	now    bool   // what is performed is cut off
}

// endingOf returns why a frame has to end: of those above it the highest says; nil if it may go on.
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

// cutOff reports whether what is performed for a frame is cut off.
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

// below reports whether f is top, or stands below it.
func (f *frame) below(top *frame) bool {
	for f != nil && f.depth > top.depth {
		f = f.up
	}
	return f == top
}

// end begins the end of a frame, and closes what it can of all that the frame started.
func (m *Machine) end(e *ending) {
	m.markEnding(e)
	m.closeBelow(e)
}

// markEnding notes that a frame has to end.
func (m *Machine) markEnding(e *ending) {
	if e.frame.ending == nil {
		m.endingFrames++
		e.frame.ending = e
	} else if e.now {
		e.frame.ending.now = true
	}
}

// closeBelow closes what is open below a frame that ends, unless somebody performs it. Frames that
// have nothing open then are due.
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
		b.starting = true // nothing more of it is started
		for i := range b.calls {
			m.closeOrCut(&b.calls[i], e)
		}
		b.starting = false
	}
}

// closeOrCut closes an effect, unless somebody performs it.
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
	case e.state == queued: // it has its replies, and goes on with them
		m.release(e)
	}
	if end.now && !e.pending {
		m.out.Withdrawn = append(m.out.Withdrawn, e.id)
	}
}

// closeEffect ends an effect that nobody performs.
func (m *Machine) closeEffect(e *effect, end *ending) {
	f := e.frame
	m.refundUnbegun(e)
	if e.kind != EffectTool {
		m.closeWaits(e)
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

// unwind ends a frame with its last output. If its strategy has no result, the result is what had
// arrived of the reply that was cut off. The frame above it is due: it has to end as well, or is
// told if the end was that of this frame.
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
	m.frameLeft(f, &out)
	m.recycle(f)
	m.tasks = append(m.tasks, frameTask{frame: up, unwind: true, child: &out})
}

// conclude asks a strategy for its last output, once it knows that of its child; nil: it had none.
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

// stopped begins the end that a Stopped asks for.
func (m *Machine) stopped(rec Record) error {
	r, _ := canonical(rec.(Stopped))
	f := m.root
	if r.Frame != "" && r.Frame != "0" {
		if f = m.named(r.Frame); f == nil {
			return &AnswerError{Run: m.run, Frame: r.Frame, Problem: "there is no such frame to stop"}
		}
	}
	m.begin(r.At)
	reason := r.Reason
	m.end(&ending{
		frame: f, reason: reason, note: m.started.StopNote, now: r.Now,
		err: &delegation.Error{Code: delegation.CodeStopped, Message: "machine: the run was stopped: " + reason},
	})
	return nil
}

// named returns the frame of a name; nil if there is none.
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
