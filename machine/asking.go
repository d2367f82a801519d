package machine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

// askApproval has a person asked whether a call may be made.
func (m *Machine) askApproval(e *effect) {
	w := m.about(e, WaitApproval, "May "+e.call.Name+" be called?")
	if m.started.Expires > 0 {
		w.Expires = m.now.Add(m.started.Expires).Truncate(timePrecision)
	}
	m.move(e, waiting)
	m.wait(e, w.Identified(e.nextWait()))
}

// askUnknown has a person asked whether a call that may have had its effect is to be made again.
func (m *Machine) askUnknown(e *effect) {
	w := m.about(e, WaitUnknown, "The run broke off while "+e.call.Name+" was called, and nobody knows whether the call had its effect. Shall it be made again?")
	m.move(e, waiting)
	m.wait(e, w.Identified(e.nextWait()))
}

// nextWait is the id of the next wait of an effect. The machine's own waits are identified by it,
// so that a reply fits one of them only, though the same is asked again.
func (e *effect) nextWait() EffectID {
	return EffectID{Seq: e.id.Seq, Index: e.id.Index, Wait: e.asked + 1}
}

// awaitsApproval reports whether a person is being asked whether the call may be made.
func (e *effect) awaitsApproval() bool {
	return slices.ContainsFunc(e.waits, func(w wait) bool { return !w.over && w.Kind == WaitApproval })
}

// about returns a wait about an effect.
func (m *Machine) about(e *effect, kind, text string) Wait {
	return Wait{
		Run: m.run, Frame: e.frame.name, Seq: e.id.Seq, Kind: kind, CallID: e.call.ID, Tool: e.call.Name, Arguments: e.call.Arguments,
		Text: text, Untrusted: e.frame.branch.untrusted,
	}
}

// wait adds a wait to an effect.
func (m *Machine) wait(e *effect, w Wait) {
	e.waits = append(e.waits, wait{Wait: w, id: e.nextWait()})
	e.asked++
	if m.waits == nil {
		m.waits = map[string]*effect{}
	}
	m.waits[w.ID] = e
	m.emitFor(e.frame, e.id.Seq, EventWaitStarted, WaitStarted{Wait: w})
	m.out.Effects = append(m.out.Effects, m.person(e, &e.waits[len(e.waits)-1]))
}

// closeWaits ends what an effect waits for: there is nothing to wait for any more, and nobody is
// asked.
func (m *Machine) closeWaits(e *effect) {
	for i := range e.waits {
		w := &e.waits[i]
		if w.over {
			continue
		}
		closed := &delegation.Error{Code: delegation.CodeStopped, Message: "machine: there is nothing to wait for any more"}
		if ending := m.endingOf(e.frame); ending != nil {
			closed = ending.err
		}
		w.over = true
		delete(m.waits, w.ID)
		if !m.recall(w.id) {
			m.out.Withdrawn = append(m.out.Withdrawn, w.id)
		}
		m.emitFor(e.frame, e.id.Seq, EventWaitEnded, WaitEnded{WaitID: w.ID, Err: closed})
	}
}

// askedFor has an effect that goes on wait for somebody.
func (m *Machine) askedFor(r *Asked) error {
	e := m.find(r.Effect)
	if err := m.compare(e, r.Effect, "", "", "", "", nil); err != nil {
		return err
	}
	problem := m.badWait(e, &r.Wait)
	if !e.performed() {
		problem = "nobody performs the effect now"
	}
	if problem == "" && m.waits[r.Wait.ID] != nil {
		problem = "it waits for that already"
	}
	if problem == "" && m.endingOf(e.frame) != nil {
		problem = "its frame ends: nobody is asked any more"
	}
	if problem != "" {
		return m.misfits(e, r.Effect, nil, problem)
	}
	m.begin(r.At)
	m.forget(e)
	e.begun, e.held = true, true
	m.move(e, asking)
	m.wait(e, r.Wait)
	return nil
}

// badWait says what is wrong with a wait of an effect; "" if nothing is.
func (m *Machine) badWait(e *effect, w *Wait) string {
	switch {
	case w.Kind == WaitApproval || w.Kind == WaitUnknown:
		return fmt.Sprintf("waits of kind %q are the machine's", w.Kind)
	case w.ID != w.identity(e.id):
		return "the id of the wait is not that of what it says"
	default:
		return ""
	}
}

// suspended has an effect that has returned wait for somebody.
func (m *Machine) suspended(r *Suspended) error {
	e := m.find(r.Effect)
	if err := m.compare(e, r.Effect, "", "", "", "", nil); err != nil {
		return err
	}
	problem := ""
	switch {
	case !e.performed():
		problem = "nobody performs the effect now"
	case len(r.Waits) == 0:
		problem = "it waits for nothing"
	case r.State != nil && !json.Valid(r.State):
		problem = "its state is not JSON"
	}
	for i := range r.Waits {
		if problem == "" {
			problem = m.badWait(e, &r.Waits[i])
		}
	}
	if problem != "" {
		return m.misfits(e, r.Effect, nil, problem)
	}
	m.begin(r.At)
	m.charge(e.frame, &tally{elapsed: r.Elapsed})
	m.forget(e)
	if e.held {
		m.recall(e.id)
	}
	e.kept, e.intended, e.begun, e.held = r.State, false, true, false
	m.move(e, waiting)
	if end := m.endingOf(e.frame); end != nil {
		m.closeEffect(e, end)
		return nil
	}
	for _, w := range r.Waits {
		if !slices.ContainsFunc(e.waits, func(have wait) bool { return have.ID == w.ID && !have.over }) {
			m.wait(e, w)
		}
	}
	m.again(e)
	return nil
}

// again has an effect performed again that waits for nobody any more.
func (m *Machine) again(e *effect) {
	if e.isWaiting() {
		return
	}
	m.move(e, blocked)
	m.proceed(e)
}

// replied ends a wait.
func (m *Machine) replied(r *Replied) error {
	e, w, err := m.waitFor(r)
	if err != nil {
		return err
	}
	m.begin(r.At)
	delete(m.waits, w.ID)
	w.over = true
	end := WaitEnded{WaitID: w.ID, Err: r.Err}
	switch {
	case r.Expired:
		end.Err = &delegation.Error{Code: delegation.CodeFailed, Message: "machine: nobody answered in time"}
	case r.Err == nil:
		reply := r.Reply
		w.reply, end.Reply = &reply, &reply
	}
	w.err = end.Err
	m.emitFor(e.frame, e.id.Seq, EventWaitEnded, end)
	switch w.Kind {
	case WaitApproval:
		m.approved(e, w, r)
	case WaitUnknown:
		m.known(e, w)
	default:
		m.again(e)
	}
	return nil
}

// waitFor returns the wait that a reply answers, or why it answers none.
func (m *Machine) waitFor(r *Replied) (*effect, *wait, error) {
	id := r.Reply.WaitID
	refused := func(problem string) (*effect, *wait, error) {
		return nil, nil, &ReplyError{Run: m.run, WaitID: id, Problem: problem}
	}
	e, ok := m.waits[id]
	switch {
	case ok:
	case len(m.waits) == 0:
		return refused("the run does not wait for anything")
	default:
		return refused(fmt.Sprintf("the run does not wait for it; it waits for %q", slices.Sorted(maps.Keys(m.waits))))
	}
	w := e.openWait(id)
	if r.Expired && (w.Expires.IsZero() || r.At.Before(w.Expires)) {
		return refused("it has not expired")
	}
	if !r.Expired && r.Err == nil {
		if problem := w.problem(&r.Reply, r.At); problem != "" {
			return refused(problem)
		}
	}
	return e, w, nil
}

// openWait returns the wait of that id that is not over.
func (e *effect) openWait(id string) *wait {
	for i := range e.waits {
		if w := &e.waits[i]; w.ID == id && !w.over {
			return w
		}
	}
	return nil
}

// approved does what a person said about a call that is to be made.
func (m *Machine) approved(e *effect, w *wait, r *Replied) {
	switch {
	case r.Expired:
		m.refuse(e, "nobody approved this call in time")
	case r.Err != nil:
		m.refuse(e, "nobody could be asked to approve this call")
	case w.reply.Approve:
		e.approved = true
		m.again(e)
	default:
		text := "a person refused this call"
		if w.reply.Reason != "" {
			text += ": " + w.reply.Reason
		}
		m.refuse(e, text)
	}
}

// known does what a person said about a call that may have had its effect.
func (m *Machine) known(e *effect, w *wait) {
	if w.reply != nil && w.reply.Approve {
		e.intended = false
		m.again(e)
		return
	}
	text := "the run broke off while this call was made, and whether it had its effect is unknown"
	if w.reply != nil && w.reply.Text+w.reply.Reason != "" {
		text += "; a person says: " + w.reply.Text + w.reply.Reason
	}
	m.endCall(e, m.callOutput(e, messages.StatusUnknown, messages.ReasonInterrupted, text))
}

// resumed takes the run up again in a process that performs nothing of it yet.
func (m *Machine) resumed(r *Resumed) {
	m.empty()
	m.begin(r.At)
	m.root.limits = overlay(r.Limits, m.root.limits)
	m.emitFor(m.root, m.seq, EventRunResumed, RunResumed{Strategy: m.root.strategy, Goal: m.root.input.Goal})
	for _, f := range slices.Collect(m.frames()) {
		if f.rests == atEffect {
			m.takeUp(&f.effect, r)
			continue
		}
		for i := range f.batch.calls {
			m.takeUp(&f.batch.calls[i], r)
		}
	}
}

// takeUp goes on with one effect of a run that is resumed. The policy is asked again about a call
// that is not performed yet, or is performed once more.
func (m *Machine) takeUp(e *effect, r *Resumed) {
	e.pending = false
	switch {
	case e.state == ended || e.state == nested:
		return
	case e.performed() && e.intended:
		m.closeWaits(e)
		m.askAboutUnknown(e, m.endingOf(e.frame), r.Unknown)
		return
	case e.performed() && m.cutOff(e.frame):
		m.cutShort(e)
		return
	case e.state == asking:
		m.move(e, waiting)
	}
	e.held = false // whoever asked is gone, and will be called again
	known := len(e.waits)
	if e.state == waiting {
		m.renew(e)
	}
	if e.kind == EffectTool {
		m.judge(e)
	}
	switch {
	case e.state == waiting:
		m.askAgain(e, e.waits[:known])
	case e.pending:
	case e.state == open:
		m.release(e)
	case e.state == intending:
		m.intend(e, VerdictAllow)
	}
}

// askAboutUnknown deals with a call that may have had its effect.
func (m *Machine) askAboutUnknown(e *effect, end *ending, u Unknown) {
	e.begun, e.unsure, e.held = true, true, false
	if end == nil && u == UnknownAsk {
		m.askUnknown(e)
		return
	}
	e.frame.batch.cut = e.frame.batch.cut || end != nil
	m.endCall(e, m.callOutput(e, messages.StatusUnknown, messages.ReasonInterrupted,
		"the run broke off while this call was made, and whether it had its effect is unknown"))
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
	m.wake(f)
	m.work = append(m.work, due{frame: f, unwind: true})
}

// renew asks for an approval anew that can be given no more, since it has expired.
func (m *Machine) renew(e *effect) {
	for i := range e.waits {
		if w := &e.waits[i]; !w.over && w.Kind == WaitApproval && w.Expired(m.now) {
			w.over = true
			delete(m.waits, w.ID)
			m.askApproval(e)
			return
		}
	}
}

// askAgain has people asked again who were asked about an effect by a process that is gone.
func (m *Machine) askAgain(e *effect, waits []wait) {
	for i := range waits {
		if w := &waits[i]; !w.over {
			m.out.Effects = append(m.out.Effects, m.person(e, w))
		}
	}
}
