package machine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// ApprovalRequest is a tool call that a policy judges.
type ApprovalRequest struct {
	Run        string
	Frame      string
	Strategy   string // the strategy of the frame, by its name in the Set
	Seq        int
	Call       messages.ToolCall // the call, as it will be made
	Definition tools.Definition  // the definition of the tool
	Untrusted  bool              // the run has read text from outside, which may have caused this call
}

// Verdict is the decision of a policy about a tool call.
type Verdict int

// The verdicts.
const (
	VerdictAsk    Verdict = iota // a person is asked
	VerdictAllow                 // the call is made
	VerdictRefuse                // the call is refused, and the model is told so
)

var verdictNames = [...]string{VerdictAsk: "ask", VerdictAllow: "allow", VerdictRefuse: "refuse"}

// String returns the name of the verdict in the JSON form.
func (v Verdict) String() string {
	if v < 0 || int(v) >= len(verdictNames) {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return verdictNames[v]
}

// MarshalText returns the name of the verdict.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < 0 || int(v) >= len(verdictNames) {
		return nil, fmt.Errorf("machine: no verdict has the number %d", int(v))
	}
	return []byte(verdictNames[v]), nil
}

// UnmarshalText reads the name of a verdict.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range verdictNames {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("machine: unknown verdict %.64q", text)
}

// ApprovalPolicy judges tool calls. It must be pure: it may be called again for the same call, and
// must then return the same verdict.
type ApprovalPolicy func(ApprovalRequest) Verdict

// AllowAlways allows every call.
func AllowAlways(ApprovalRequest) Verdict { return VerdictAllow }

// AllowNever refuses every call.
func AllowNever(ApprovalRequest) Verdict { return VerdictRefuse }

// AskAlways requires a person's approval of every call.
func AskAlways(ApprovalRequest) Verdict { return VerdictAsk }

// AskIfUntrusted requires a person's approval as soon as text from outside has been read.
func AskIfUntrusted(r ApprovalRequest) Verdict {
	if r.Untrusted {
		return VerdictAsk
	}
	return VerdictAllow
}

// AskIfChanging requires a person's approval unless the tool is read-only.
func AskIfChanging(r ApprovalRequest) Verdict {
	if r.Definition.ReadOnly {
		return VerdictAllow
	}
	return VerdictAsk
}

// judge asks the policy about a call before it is made. If the verdict is not VerdictAllow, the
// verdict must be stored first, and the call is not released until then. VerdictAllow is not
// stored: it is not part of the run, and a journal may be replayed under another policy.
//
// Open branches cannot be closed when a replay reaches another verdict. So a call of an agent waits
// until its verdict is stored, whatever the verdict is.
func (m *Machine) judge(e *effect) {
	v := m.verdict(e)
	if v == VerdictAsk && (e.approved || e.approval() != nil) {
		v = VerdictAllow
	}
	switch {
	case e.agent != nil && e.state != waiting:
		m.move(e, judged)
		m.intend(e, v)
	case v != VerdictAllow:
		m.intend(e, v)
	}
}

// verdict calls the policy, which is foreign code. If it panics, a person is asked.
func (m *Machine) verdict(e *effect) (v Verdict) {
	if v = m.policy(e); v == VerdictAllow && e.isDoubtful() {
		v = VerdictAsk
	}
	return v
}

func (m *Machine) policy(e *effect) (v Verdict) {
	if m.cfg.Approve == nil {
		if e.def.NeedsApproval || e.def.ApprovalNote != "" {
			return VerdictAsk
		}
		return VerdictAllow
	}
	defer func() {
		if p := recover(); p != nil {
			_ = m.panicked(e.frame, "Config.Approve", p)
			v = VerdictAsk
		}
	}()
	v = m.cfg.Approve(ApprovalRequest{
		Run: m.run, Frame: e.frame.name, Strategy: e.frame.strategy, Seq: e.id.Seq,
		Call: e.call, Definition: *e.def, Untrusted: e.frame.branch.untrusted,
	})
	if v != VerdictAllow && v != VerdictRefuse || v == VerdictAllow && e.def.ApprovalNote != "" {
		v = VerdictAsk
	}
	return v
}

// isDoubtful reports whether a call of a tool that is not read-only was read from the text of a
// reply, after the run had read text from outside, which may have caused it.
func (e *effect) isDoubtful() bool {
	f := e.frame
	if !f.branch.untrusted || e.def.ReadOnly || len(f.answers) == 0 || f.answers[0].reply == nil {
		return false
	}
	calls := f.answers[0].reply.Message.Calls()
	read := calls[max(0, len(calls)-max(0, f.answers[0].reply.Read)):]
	return slices.ContainsFunc(read, func(c messages.ToolCall) bool { return c.ID == e.call.ID })
}

// Unapproved reports whether an effect is an open call of an agent that nobody has approved and
// that the policy does not allow now. Such a call was allowed by another policy, or its journal was
// changed.
func (m *Machine) Unapproved(id EffectID) bool {
	e := m.find(id)
	return e != nil && e.agent != nil && !e.approved && m.verdict(e) != VerdictAllow
}

// intended carries out the stored verdict about a call, or starts a remote delegation.
func (m *Machine) intended(rec Record) error {
	r := rec.(Intended)
	canonicalIntended(&r)
	e := m.find(r.Effect)
	if err := m.compare(e, r.Effect, r.Frame, cmp.Or(r.Kind, EffectTool), r.Tool, r.Digest, nil); err != nil {
		return err
	}
	problem := ""
	switch {
	case e.kind == EffectModel:
		problem = "only calls and remote delegations have an intent"
	case r.Verdict != VerdictAllow && r.Verdict != VerdictAsk && r.Verdict != VerdictRefuse:
		problem = "there is no such verdict"
	case !e.takes(r.Verdict):
		problem = "the call already has its verdict"
	}
	if problem != "" {
		return m.answerError(e, r.Effect, nil, problem)
	}
	m.begin(r.At)
	m.compareDigest(e, r.Digest)
	m.withdrawIntent(e)
	end := m.endingOf(e.frame)
	switch {
	case end != nil: // the call was not released
		m.closeEffect(e, end)
	case r.Verdict == VerdictRefuse:
		m.refuse(e, "this call is not allowed here")
	case r.Verdict == VerdictAsk:
		e.started = false
		m.move(e, waiting)
		m.addWait(e, m.approvalQuestion(e))
	case e.agent != nil:
		m.proceed(e)
	default:
		e.intended = true
		m.release(e)
	}
	return nil
}

// takes reports whether a verdict about the effect may be stored now. A remote delegation is not
// judged.
func (e *effect) takes(v Verdict) bool {
	if e.kind == EffectRemote {
		return e.state == intending && v == VerdictAllow
	}
	switch e.state {
	case judged, intending:
		return true
	case waiting:
		return v == VerdictRefuse || v == VerdictAsk && e.approval() == nil
	case blocked, queued, open: // a less strict policy may have allowed it already
		return v != VerdictAllow && e.agent == nil && !e.intended
	default:
		return false
	}
}

// ReasonRefused is the reason of a result whose call was not approved.
const ReasonRefused = "refused"

// refuse gives a refused call its result.
func (m *Machine) refuse(e *effect, why string) {
	m.refundUnbegun(e)
	m.endCall(e, m.callOutput(e, messages.StatusFailed, ReasonRefused, why))
}

// approvalQuestion returns the wait that asks a person to approve a call.
func (m *Machine) approvalQuestion(e *effect) Wait {
	text := "May " + e.call.Name + " be called?"
	if e.def.ApprovalNote != "" {
		text += " " + e.def.ApprovalNote
	}
	return m.question(e, WaitApproval, text)
}

// approval returns the wait for approval of the call; nil if there is none.
func (e *effect) approval() *wait {
	return e.openWait(func(w *wait) bool { return w.Kind == WaitApproval })
}

// approvalReplied carries out a person's reply to an approval wait.
func (m *Machine) approvalReplied(e *effect, w *wait, r *Replied) {
	switch {
	case r.Expired:
		m.refuse(e, "nobody approved this call in time")
	case r.Err != nil:
		m.refuse(e, "nobody could be asked to approve this call")
	case w.reply.Approve:
		e.approved = true
		if w.reply.Arguments != "" && m.edit(e, w.reply.Arguments) {
			return
		}
		m.proceed(e)
	default:
		text := "a person refused this call"
		if w.reply.Reason != "" {
			text += ": " + w.reply.Reason
		}
		m.refuse(e, text)
	}
}

// edit gives a call that has not begun the arguments of a person, and reports whether it did: they
// may be the same. The person has approved the changed call, but the policy may refuse it.
func (m *Machine) edit(e *effect, arguments string) bool {
	var text bytes.Buffer
	if json.Compact(&text, []byte(arguments)) != nil || jsonform.Canonical(arguments) == jsonform.Canonical(e.call.Arguments) {
		return false
	}
	c := e.call
	c.Arguments = text.String()
	e.frame.batch.keepMade(e, c)
	if e.call, e.edited = c, true; e.digest != "" {
		e.digest = digestOf(&e.call)
	}
	m.move(e, blocked)
	if m.judge(e); e.agent == nil {
		m.proceed(e)
	}
	return true
}
