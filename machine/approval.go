package machine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
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

// refuse gives a refused call its result.
func (m *Machine) refuse(e *effect, why string) {
	m.refundUnbegun(e)
	m.endCall(e, m.callOutput(e, messages.StatusFailed, messages.ReasonRefused, why))
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

// Wait is a question that a run waits for somebody to answer, usually a person. Other frameworks
// call this an interrupt. A [Reply] answers it.
type Wait struct {
	ID        string    `json:"id"`                  // unique; named by the [Reply]
	Run       string    `json:"run"`                 // the run that waits
	Frame     string    `json:"frame"`               // position in the delegation tree
	Seq       int       `json:"seq"`                 // number of the step
	Kind      string    `json:"kind"`                // one of the kinds below, or a kind of your own
	CallID    string    `json:"call_id,omitempty"`   // the tool call that it is about, if any
	Tool      string    `json:"tool,omitempty"`      // the tool of that call
	Arguments string    `json:"arguments,omitempty"` // arguments of that call, as they will be used
	Text      string    `json:"text,omitempty"`      // the question for the person
	Options   []string  `json:"options,omitempty"`   // possible answers; none: any answer
	Untrusted bool      `json:"untrusted,omitempty"` // the run has read text from outside, which may have caused this
	Expires   time.Time `json:"expires,omitzero"`    // later answers are rejected; zero: never
}

// The kinds of a [Wait] that this library makes.
const (
	WaitApproval = "approval"         // may the call be made? Reply.Approve answers
	WaitQuestion = tools.KindQuestion // Reply.Text answers
	WaitTimer    = tools.KindTimer    // nobody is asked: the effect continues at Expires
	WaitStep     = "step"             // a Handler cannot perform the effect now, and gave no other wait
	WaitUnknown  = "unknown"          // the call may have had its effect: Reply.Approve makes it again; otherwise Text or Reason says what is known
)

// Reply answers a [Wait].
type Reply struct {
	WaitID  string `json:"wait_id"`
	Approve bool   `json:"approve,omitempty"` // for WaitApproval: make the call; for WaitUnknown: make it again
	Text    string `json:"text,omitempty"`    // for WaitQuestion: the answer
	Reason  string `json:"reason,omitempty"`  // for the model: why the call is refused, or why the question is declined (with no Text)

	// Arguments, for WaitApproval with Approve, are a JSON object: the call is made with them
	// instead of the arguments that were shown. "" changes nothing. The policy judges the changed
	// call, and may refuse it. The conversation has the call as it is made. The arguments of a call
	// that has begun cannot be changed.
	Arguments string `json:"arguments,omitempty"`
}

// Expired reports whether the wait has expired at that time.
func (w *Wait) Expired(at time.Time) bool { return !w.Expires.IsZero() && at.After(w.Expires) }

// Identified returns w in the form that a journal would return, with its ID set. The ID is a hash
// of the effect and of all fields of w, with the arguments in canonical form. So a reply fits no
// other wait.
func (w Wait) Identified(of EffectID) Wait {
	if !w.plain() {
		if r, err := canonical(Asked{Wait: w}); err == nil {
			w = r.Wait
		}
	}
	w.ID = w.identity(of)
	return w
}

func (w *Wait) identity(of EffectID) string {
	var room [512]byte
	text := room[:0]
	for _, part := range [...]string{w.Run, of.String(), w.Frame, w.Kind, w.CallID, w.Tool, jsonform.Canonical(w.Arguments), w.Text} {
		text = appendPart(text, part)
	}
	for _, part := range w.Options {
		text = appendPart(text, part)
	}
	if !w.Expires.IsZero() {
		text = strconv.AppendInt(text, w.Expires.UnixMilli(), 10)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// appendPart appends a part of what identifies a wait, with its length.
func appendPart(dst []byte, part string) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(part)), 10), ':')
	return append(append(dst, part...), ';')
}

// Problem says why a reply does not answer the wait at the given time; "" if it does.
func (w *Wait) Problem(r *Reply, at time.Time) string {
	switch {
	case w.Expired(at):
		return "it has expired; resume the run without a reply to be asked again"
	case w.Kind == WaitQuestion && r.Text == "" && r.Reason == "":
		return "a question is answered by Text, or declined by a Reason"
	case r.Arguments != "" && (w.Kind != WaitApproval || !r.Approve):
		return "Arguments are for the approval of a call"
	case r.Arguments != "" && !isObject(r.Arguments):
		return "its Arguments are not a JSON object"
	default:
		return ""
	}
}

// isObject reports whether a text is one JSON object.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}
