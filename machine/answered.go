package machine

import (
	"cmp"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// answered applies an Answered: it ends an effect.
func (m *Machine) answered(rec Record) error {
	r := new(rec.(Answered))
	formless := canonicalAnswered(r)
	e := m.find(r.Effect)
	if err := m.compare(e, r.Effect, r.Frame, r.Kind, r.Tool, r.Digest, r.Answer); err != nil {
		return err
	}
	problem := ""
	switch {
	case !e.performed() && e.state != queued || e.kind == EffectTool && e.needsIntent():
		problem = "nobody performs the effect now"
	case r.NotBegun && m.endingOf(e.frame) == nil && (e.state != open || !e.intended):
		problem = "an effect that is to be done was not begun"
	case r.NotBegun:
	default:
		problem = cmp.Or(answerProblem(e, r.Answer, formless), costProblem(e, r))
	}
	if problem != "" {
		return m.answerError(e, r.Effect, r.Answer, problem)
	}
	m.begin(r.At)
	m.compareDigest(e, r.Digest)
	e.complete(r)
	if e.inAsk {
		m.withdrawRelease(e.id) // it was released again, with its replies
	}
	switch {
	case r.NotBegun && m.endingOf(e.frame) == nil: // its intent is void, and code that had asked is gone
		e.intended, e.inAsk = false, false
		m.enqueue(e)
	case r.NotBegun:
		m.closeEffect(e, m.endingOf(e.frame))
	case e.kind == EffectTool:
		m.callAnswered(e, r)
	default:
		m.stepAnswered(e, r)
	}
	return nil
}

// complete fills in the optional fields of an answer.
func (e *effect) complete(r *Answered) {
	switch a := r.Answer.(type) {
	case nextstep.ToolResult:
		if o := &a.Output; o.ToolName == "" || o.Status == "" {
			o.ToolName, o.Status = e.call.Name, cmp.Or(o.Status, messages.StatusOK)
			r.Answer = a
		}
	case nextstep.Failure:
		if e.kind != EffectTool && (a.Code == "" || a.Message == "") {
			a.Code, a.Message = cmp.Or(a.Code, delegation.CodeFailed), cmp.Or(a.Message, "machine: the step could not be performed, and nobody said why")
			r.Answer = a
		}
	}
}

// compare returns an error if no such effect is open, or if the effect is not the one in the
// record.
func (m *Machine) compare(e *effect, id EffectID, frame string, kind EffectKind, tool, digest string, a nextstep.Answer) error {
	if e == nil || id.Wait > 0 {
		return m.answerError(nil, id, a, "no such effect is open")
	}
	same := frame == "" || frame == e.frame.name && kind == e.kind && tool == e.call.Name
	if same && (!m.cfg.Strict || digest == "" || e.digest == "" || digest == e.digest) {
		return nil
	}
	return &ReplayError{
		Run: m.run, Record: m.records + 1, Seq: id.Seq,
		Recorded: StepID{Effect: id, Frame: frame, Kind: kind, Tool: tool, Digest: digest},
		Now:      e.stepID(),
	}
}

func (e *effect) stepID() StepID {
	return StepID{Effect: e.id, Frame: e.frame.name, Kind: e.kind, Tool: e.call.Name, Digest: e.digest}
}

// answerError returns the error for an answer that does not fit.
func (m *Machine) answerError(e *effect, id EffectID, a nextstep.Answer, problem string) error {
	err := &answerError{run: m.run, effect: id, answer: a, problem: problem}
	if e != nil {
		err.frame, err.state = e.frame.name, e.frame.state
	}
	return err
}

// compareDigest emits one event for each frame whose effects differ from the recorded ones.
func (m *Machine) compareDigest(e *effect, recorded string) {
	if recorded == "" || e.digest == "" || recorded == e.digest {
		return
	}
	m.reportDrift(e.frame, "step "+e.id.String()+" is not asked for in the same words")
}

func (m *Machine) reportDrift(f *frame, what string) {
	if m.drifted[f.name] {
		return
	}
	if m.drifted == nil {
		m.drifted = map[string]bool{}
	}
	m.drifted[f.name] = true
	m.emit(f, EventDrifted, Drifted{What: what})
	m.out.Events[len(m.out.Events)-1].Index = 0 // the places of the others are the same without it
	m.index--
}

// compareTable emits an event if the table of the frame's strategy has changed since the run began.
func (m *Machine) compareTable(f *frame) {
	was, known := m.started.Fingerprints[f.strategy]
	if now := m.cfg.Fingerprints[f.strategy]; known && now != "" && now != was {
		m.reportDrift(f, "the table of the strategy "+f.strategy+" is another one")
	}
}

// stepAnswered passes the answer of a single-effect step to its frame.
func (m *Machine) stepAnswered(e *effect, r *Answered) {
	f := e.frame
	m.closeWaits(e)
	m.withdrawIntent(e)
	m.move(e, ended)
	m.unpark(f)
	switch r.Answer.(type) {
	case nextstep.APIResponse:
		m.modelAnswered(e, r)
	case nextstep.DelegationResult:
		m.remoteAnswered(e, r)
	case nextstep.Failure:
		m.stepFailed(e, r)
	}
}

// modelStepTaken emits the event of a reply. It is separate from modelAnswered to keep the stack
// small while a strategy runs.
//
//go:noinline
func (m *Machine) modelStepTaken(e *effect, r *Answered, used *usage) {
	resp := r.Answer.(nextstep.APIResponse).Response
	m.stepTaken(e.frame, StepTaken{
		Kind: nextstep.KindGetChatCompletion, Model: resp.Model, Usage: used.tokens, Cost: used.cost, Unpriced: used.unpriced, Calls: countCalls(resp.Message), Elapsed: r.Elapsed,
		Anew: anew(e.step),
	})
}

// anew returns why a request does not extend the last one; nil if it does, and for other steps.
func anew(s nextstep.NextStep) *string {
	if ask, ok := s.(nextstep.GetChatCompletion); ok {
		return ask.Anew
	}
	return nil
}

// isAside reports whether a step is a request that is not part of the conversation of its frame.
func isAside(s nextstep.NextStep) bool {
	ask, ok := s.(nextstep.GetChatCompletion)
	return ok && ask.Aside
}

func (m *Machine) modelAnswered(e *effect, r *Answered) {
	f := e.frame
	resp := r.Answer.(nextstep.APIResponse).Response
	used := modelUse(r, resp.Usage, resp.Attempts)
	m.charge(f, &used)
	if isAside(e.step) {
		f.aside = resp.Message
	} else {
		f.addAnswer(frameAnswer{reply: resp}, false)
	}
	m.modelStepTaken(e, r, &used)
	m.schedule(f, m.process(f, "ProcessAPIResponse", func() nextstep.NextStep { return f.st.ProcessAPIResponse(*resp) }))
}

func (m *Machine) remoteAnswered(e *effect, r *Answered) {
	f, out := e.frame, r.Answer.(nextstep.DelegationResult).Output
	f.branch.news++
	m.chargeRemote(e, &out, r.Elapsed)
	if out.Untrusted || holdsUntrusted(out.Messages) {
		f.branch.taint(e.id.String() + " a remote")
	}
	if m.cutOff(f) && out.Err != nil && out.Err.Code == delegation.CodeStopped {
		m.unwind(f, &out)
		return
	}
	m.stepTaken(f, StepTaken{Kind: nextstep.KindDelegate, Usage: out.Usage, Cost: out.Cost, Unpriced: out.Unpriced, Elapsed: r.Elapsed, Err: out.Err})
	m.schedule(f, m.process(f, "ProcessDelegationResult", func() nextstep.NextStep { return f.st.ProcessDelegationResult(out) }))
}

// stepFailed tells the strategy that its step could not be performed, or ends the frame if the step
// was cut off.
func (m *Machine) stepFailed(e *effect, r *Answered) {
	a := r.Answer.(nextstep.Failure)
	f, used := e.frame, usage{elapsed: r.Elapsed}
	if e.kind == EffectModel {
		used = modelUse(r, a.Usage, a.Attempts)
	} else {
		m.refund(e)
	}
	m.charge(f, &used)
	cut := m.cutOff(f)
	if isAside(e.step) {
		f.aside = a.Partial
	} else {
		f.addAnswer(frameAnswer{partial: a.Partial}, cut)
	}
	if cut {
		m.unwind(f, nil)
		return
	}
	cause := &delegation.Error{Code: a.Code, Message: a.Message}
	m.stepTaken(f, StepTaken{Kind: e.step.Kind(), Usage: used.tokens, Cost: used.cost, Unpriced: used.unpriced, Elapsed: r.Elapsed, Err: cause, Anew: anew(e.step)})
	m.schedule(f, m.fail(f, a, cause))
}

// fail asks the strategy what to do about a failure. A strategy without ProcessFailure fails with
// the cause.
func (m *Machine) fail(f *frame, a nextstep.Failure, cause *delegation.Error) nextstep.NextStep {
	h, ok := f.st.(strategy.FailureHandler)
	if !ok {
		return nextstep.ReportError{Err: cause}
	}
	return m.process(f, "ProcessFailure", func() nextstep.NextStep { return h.ProcessFailure(a) })
}
