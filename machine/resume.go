package machine

import (
	"github.com/segue-go/segue/messages"
)

// resumed applies a Resumed: the run continues in a process that performs none of its effects yet.
func (m *Machine) resumed(rec Record) {
	r := rec.(Resumed)
	canonicalResumed(&r)
	m.empty()
	m.now = r.At // the time until now is not active time of the run
	m.begin(r.At)
	m.root.limits = amountsOf(r.Limits).or(m.root.limits)
	used := &m.root.used
	m.emitFor(m.root, m.seq, EventRunResumed, RunResumed{
		Strategy: m.root.strategy, Goal: m.root.input.Goal, Limits: m.root.limits.limits(), Left: m.remaining(m.root).limits(),
		Usage: used.tokens, Cost: used.cost, Unpriced: used.unpriced, Metadata: m.started.Metadata, Open: m.openFrames(),
	})
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

// resumeEffect continues one effect of a resumed run. It asks the policy again about a call that
// was not performed yet, or that is performed again.
func (m *Machine) resumeEffect(e *effect, unknown Unknown) {
	e.pending = false
	switch {
	case e.state == ended || e.state == nested:
		return
	case e.performed() && e.intended && e.kind == EffectTool:
		m.closeWaits(e)
		m.askAboutUnknown(e, m.endingOf(e.frame), unknown)
		return
	case e.performed() && m.cutOff(e.frame):
		m.cutShort(e)
		return
	case e.state == asking:
		m.move(e, waiting)
	}
	e.inAsk = false // the code that asked is gone, and will be called again
	before := len(e.waits)
	if e.state == waiting {
		m.renew(e)
	}
	if e.kind == EffectTool {
		m.judge(e)
	}
	switch {
	case e.state == waiting:
		for i := range before { // the process that asked people is gone
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

// askAboutUnknown handles a call that may have had its effect.
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

// cutShort ends an effect that was being cut off when the run broke off.
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

// renew asks again for an approval that has expired.
func (m *Machine) renew(e *effect) {
	if w := e.approval(); w != nil && w.Expired(m.now) {
		w.closed = true
		delete(m.waits, w.ID)
		m.addWait(e, m.approvalQuestion(e))
	}
}
