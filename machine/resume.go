package machine

import (
	"github.com/segue-go/segue/messages"
)

// resumed takes the run up again in a process that performs nothing of it yet.
func (m *Machine) resumed(rec Record) {
	r, _ := canonical(rec.(Resumed))
	m.empty()
	m.now = r.At // nobody worked on the run until now
	m.begin(r.At)
	m.root.limits = amountsOf(r.Limits).or(m.root.limits)
	m.emitFor(m.root, m.seq, EventRunResumed, RunResumed{Strategy: m.root.strategy, Goal: m.root.input.Goal, Limits: m.root.limits.limits(), Left: m.remaining(m.root).limits(), Metadata: m.started.Metadata, Open: m.openFrames()})
	for _, f := range m.frames() {
		if f.parked == onEffect {
			m.resumeEffect(&f.effect, r.Unknown)
			continue
		}
		for i := range f.batch.calls {
			m.resumeEffect(&f.batch.calls[i], r.Unknown)
		}
	}
}

// openFrames returns the frames that live.
func (m *Machine) openFrames() []OpenFrame {
	var open []OpenFrame
	for _, v := range m.Frames() {
		o := OpenFrame{Frame: v.Name, Strategy: v.Strategy, State: v.State}
		if f := m.named(v.Name); f != nil && f.call != nil {
			o.CallID, o.Tool = f.call.call.ID, f.call.call.Name
		}
		open = append(open, o)
	}
	return open
}

// resumeEffect goes on with one effect of a run that is resumed. The policy is asked again about a
// call that is not performed yet, or is performed once more.
func (m *Machine) resumeEffect(e *effect, unknown Unknown) {
	e.pending = false
	switch {
	case e.state == ended || e.state == nested:
		return
	case e.performed() && e.intended:
		m.closeWaits(e)
		m.askAboutUnknown(e, m.endingOf(e.frame), unknown)
		return
	case e.performed() && m.cutOff(e.frame):
		m.cutShort(e)
		return
	case e.state == asking:
		m.move(e, waiting)
	}
	e.inAsk = false // whoever asked is gone, and will be called again
	before := len(e.waits)
	if e.state == waiting {
		m.renew(e)
	}
	if e.kind == EffectTool {
		m.judge(e)
	}
	switch {
	case e.state == waiting:
		for i := range before { // people were asked by a process that is gone
			if w := &e.waits[i]; !w.closed {
				m.out.Effects = append(m.out.Effects, m.person(e, w))
			}
		}
	case e.pending:
	case e.state == open:
		m.release(e)
	case e.state == intending:
		m.intend(e, VerdictAllow)
	}
}

// askAboutUnknown deals with a call that may have had its effect.
func (m *Machine) askAboutUnknown(e *effect, end *ending, u Unknown) {
	e.begun, e.unsure, e.inAsk = true, true, false
	if end == nil && u == UnknownAsk {
		m.move(e, waiting)
		m.addWait(e, m.question(e, WaitUnknown, "The run broke off while "+e.call.Name+" was called, and nobody knows whether the call had its effect. Shall it be made again?"))
		return
	}
	e.frame.batch.cut = e.frame.batch.cut || end != nil
	m.endCall(e, m.callOutput(e, messages.StatusUnknown, messages.ReasonInterrupted, textUnknown))
}

// cutShort ends an effect that was to be cut off when the run broke off.
func (m *Machine) cutShort(e *effect) {
	f := e.frame
	m.closeWaits(e)
	if e.kind == EffectTool {
		f.batch.cut = true
		m.endCall(e, m.callOutput(e, messages.StatusFailed, messages.ReasonInterrupted, "the run was stopped while this call was made"))
		return
	}
	m.move(e, ended)
	m.unpark(f)
	m.tasks = append(m.tasks, frameTask{frame: f, unwind: true})
}

// renew asks for an approval anew that can be given no more, since it has expired.
func (m *Machine) renew(e *effect) {
	if w := e.approval(); w != nil && w.Expired(m.now) {
		w.closed = true
		delete(m.waits, w.ID)
		m.addWait(e, m.approvalQuestion(e))
	}
}
