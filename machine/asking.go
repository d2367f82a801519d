package machine

import (
	"encoding/json"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

// question returns the wait that asks a person whether a call may be made, or made again.
func (m *Machine) question(e *effect, kind, text string) Wait {
	w := Wait{
		Run: m.run, Frame: e.frame.name, Seq: e.id.Seq, Kind: kind, CallID: e.call.ID, Tool: e.call.Name, Arguments: e.call.Arguments,
		Text: text, Untrusted: e.frame.branch.untrusted,
	}
	if kind == WaitApproval && m.started.Expires > 0 {
		w.Expires = m.now.Add(m.started.Expires).Truncate(timePrecision)
	}
	return w.Identified(e.nextWait())
}

// nextWait returns the id of the next wait of an effect. It is part of the ids of the machine's own
// waits, so that a reply fits only one of them, even if the same question is asked again.
func (e *effect) nextWait() EffectID {
	return EffectID{Seq: e.id.Seq, Index: e.id.Index, Wait: e.asked + 1}
}

// addWait adds a wait to an effect.
func (m *Machine) addWait(e *effect, w Wait) {
	e.waits = append(e.waits, wait{Wait: w, id: e.nextWait()})
	e.asked++
	if m.waits == nil {
		m.waits = map[string]*effect{}
	}
	m.waits[w.ID] = e
	m.emitFor(e.frame, e.id.Seq, EventWaitStarted, WaitStarted{Wait: w})
	m.out.Effects = append(m.out.Effects, m.person(e, &e.waits[len(e.waits)-1]))
}

// closeWaits closes all waits of an effect without an answer.
func (m *Machine) closeWaits(e *effect) {
	for w := range e.openWaits() {
		why := &delegation.Error{Code: delegation.CodeStopped, Message: "machine: there is nothing to wait for any more"}
		if ending := m.endingOf(e.frame); ending != nil {
			why = ending.err
		}
		w.closed = true
		delete(m.waits, w.ID)
		if !m.withdrawRelease(w.id) {
			m.out.Withdrawn = append(m.out.Withdrawn, w.id)
		}
		m.emitFor(e.frame, e.id.Seq, EventWaitEnded, WaitEnded{WaitID: w.ID, Err: why})
	}
}

// asked applies an Asked: a running effect waits for a person.
func (m *Machine) asked(rec Record) error {
	r := rec.(Asked)
	canonicalAsked(&r)
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
		return m.answerError(e, r.Effect, nil, problem)
	}
	m.begin(r.At)
	m.withdrawIntent(e)
	e.begun, e.inAsk = true, true
	m.move(e, asking)
	m.addWait(e, r.Wait)
	return nil
}

// badWait says what is wrong with a wait of an effect; "" if nothing is wrong.
func (m *Machine) badWait(e *effect, w *Wait) string {
	switch {
	case w.Kind == WaitApproval || w.Kind == WaitUnknown:
		return fmt.Sprintf("waits of kind %q are the machine's", w.Kind)
	case w.ID != w.identity(e.id):
		return "the id of the wait does not match its content"
	default:
		return ""
	}
}

// suspended applies a Suspended: an effect that has returned waits for a person.
func (m *Machine) suspended(rec Record) error {
	r := rec.(Suspended)
	canonicalSuspended(&r)
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
		return m.answerError(e, r.Effect, nil, problem)
	}
	m.begin(r.At)
	m.charge(e.frame, &usage{elapsed: r.Elapsed})
	m.withdrawIntent(e)
	if e.inAsk {
		m.withdrawRelease(e.id)
	}
	e.kept, e.intended, e.begun, e.inAsk = r.State, false, true, false
	m.move(e, waiting)
	if end := m.endingOf(e.frame); end != nil {
		m.closeEffect(e, end)
		return nil
	}
	for _, w := range r.Waits {
		if e.openWait(func(have *wait) bool { return have.ID == w.ID }) == nil {
			m.addWait(e, w)
		}
	}
	m.proceed(e)
	return nil
}

// replied applies a Replied: it ends a wait.
func (m *Machine) replied(rec Record) error {
	r := rec.(Replied)
	canonicalReplied(&r)
	e, w, err := m.waitFor(&r)
	if err != nil {
		return err
	}
	m.begin(r.At)
	delete(m.waits, w.ID)
	w.closed = true
	if w.Kind != WaitUnknown { // which is about a call that was made
		e.frame.hasNews()
	}
	end := WaitEnded{WaitID: w.ID, Err: r.Err}
	switch {
	case r.Expired && w.Kind == WaitTimer: // what it waited for has come
		w.reply, end.Reply = &Reply{WaitID: w.ID}, &Reply{WaitID: w.ID}
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
		m.approvalReplied(e, w, &r)
	case WaitUnknown:
		m.unknownReplied(e, w)
	default:
		m.proceed(e)
	}
	return nil
}

// waitFor returns the wait that a reply answers, or an error that says why it answers none.
func (m *Machine) waitFor(r *Replied) (*effect, *wait, error) {
	id := r.Reply.WaitID
	refused := func(problem string) (*effect, *wait, error) {
		return nil, nil, &ReplyError{Run: m.run, WaitID: id, Problem: problem}
	}
	e, ok := m.waits[id]
	if !ok {
		return nil, nil, NoSuchWait(m.run, id, m.Waits())
	}
	w := e.openWait(func(w *wait) bool { return w.ID == id })
	if r.Expired && (w.Expires.IsZero() || r.At.Before(w.Expires)) {
		return refused("it has not expired")
	}
	if !r.Expired && r.Err == nil {
		if problem := w.Problem(&r.Reply, r.At); problem != "" {
			return refused(problem)
		}
		if r.Reply.Arguments != "" && e.begun {
			return refused("the call has begun, and its arguments cannot be changed any more")
		}
	}
	return e, w, nil
}

// textUnknown is the result of a call that may have had its effect.
const textUnknown = "the run broke off while this call was made, and whether it had its effect is unknown"

// unknownReplied carries out a person's reply about a call that may have had its effect.
func (m *Machine) unknownReplied(e *effect, w *wait) {
	if w.reply != nil && w.reply.Approve {
		e.intended = false
		m.proceed(e)
		return
	}
	text := textUnknown
	if w.reply != nil && w.reply.Text+w.reply.Reason != "" {
		text += "; a person says: " + w.reply.Text + w.reply.Reason
	}
	m.endCall(e, m.callOutput(e, messages.StatusUnknown, messages.ReasonInterrupted, text))
}
