package machine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// EffectID identifies an effect within its run. Its text is "3" for the single effect of step 3,
// "3/2" for the second call of the batch in step 3, and "3/2/1" for the first question to a person
// about that call. It is the same after a replay.
type EffectID struct {
	Seq   int // the number of the step, over the whole run, from 1
	Index int // number of the call in its batch, from 1; 0: the effect is not a call of a batch
	Wait  int // number of the question to a person about the effect, from 1; 0: the effect is not a question
}

// String returns the text of the id.
func (id EffectID) String() string {
	text := strconv.Itoa(id.Seq)
	if id.Index > 0 || id.Wait > 0 {
		text += "/" + strconv.Itoa(id.Index)
	}
	if id.Wait > 0 {
		text += "/" + strconv.Itoa(id.Wait)
	}
	return text
}

// MarshalText returns the text of the id.
func (id EffectID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses the text of an id.
func (id *EffectID) UnmarshalText(text []byte) error {
	var read EffectID
	parts := strings.Split(string(text), "/")
	places := []*int{&read.Seq, &read.Index, &read.Wait}
	bad := len(parts) > len(places)
	for i := 0; i < len(parts) && !bad; i++ {
		n, err := strconv.Atoi(parts[i])
		*places[i], bad = n, err != nil || n < 0
	}
	if bad || read.String() != string(text) {
		return fmt.Errorf("machine: %.64q is not the id of an effect", text)
	}
	*id = read
	return nil
}

// EffectKind says what performs an [Effect].
type EffectKind string

// The kinds.
const (
	EffectModel  EffectKind = "model"  // a model answers Step, a nextstep.GetChatCompletion; the answer is an APIResponse
	EffectTool   EffectKind = "tool"   // a tool performs Call; the answer is a ToolResult
	EffectRemote EffectKind = "remote" // another service performs Step, a nextstep.Delegate; the answer is a DelegationResult
	EffectPerson EffectKind = "person" // a person answers Wait; the record is a Replied
)

// Effect is something that the engine must do. Each effect is answered by one record: [Answered],
// [Suspended] if it has to wait for a person, or [Replied] for an EffectPerson.
//
// An Effect is a value: a middleware may pass on a changed copy, with another Step or other
// arguments in Call, and a test may construct one.
type Effect struct {
	ID        EffectID
	Run       string
	Namespace string // of the run
	Nonce     string // of the run, see [Started]
	Frame     string // the frame of the effect: its position in the tree, such as "0.1.2"
	Strategy  string // the strategy of that frame, by its name in the Set
	Depth     int    // the depth of the frame; the root has 1
	Kind      EffectKind
	Step      nextstep.NextStep // for a model or a remote; read-only
	Call      messages.ToolCall // for a tool
	Wait      *Wait             // for a person; read-only
	Record    int               // the record after which the effect was released

	Definition *tools.Definition // definition of the tool when the run began; read-only
	Tool       tools.Tool        // the tool, if the strategy brought it; nil if it is a tool of the run

	Replies   []Exchange        // earlier questions about this effect, with the answers; read-only
	State     json.RawMessage   // its own state from when it was suspended
	Left      delegation.Limits // what was left of the limits of its frame and all frames above it when it was released; negative: no limit
	Untrusted bool              // the run has read text from outside, which may have caused this effect
	Approved  bool              // a person approved the call with these arguments, and no others
	Digest    string            // digest of the step or the call; "" unless [Config].Durable
}

// asSegment keeps a namespace apart from the run behind it.
var asSegment = strings.NewReplacer("%", "%25", "/", "%2F")

// Key identifies the effect among all runs: "run/seq/index", and in a namespace
// "/namespace/run/seq/index", with the "/" and "%" of the namespace escaped as in a URL. With a
// nonce of the run it is "/namespace%~nonce/run/seq/index". It is the same each time the effect is
// performed.
func (e *Effect) Key() string {
	run, nonce := e.Run, ""
	if e.Nonce != "" {
		nonce = "%~" + e.Nonce // no namespace holds that once it is escaped
	}
	if e.Namespace != "" || nonce != "" || strings.HasPrefix(run, "/") {
		run = "/" + asSegment.Replace(e.Namespace) + nonce + "/" + run
	}
	return run + "/" + strconv.Itoa(e.ID.Seq) + "/" + strconv.Itoa(e.ID.Index)
}

// Safe reports whether the effect may be repeated when nobody knows whether it was performed: a
// model request, a remote delegation, or a call of a read-only or idempotent tool.
func (e *Effect) Safe() bool {
	return e.Kind != EffectTool || e.Definition != nil && (e.Definition.ReadOnly || e.Definition.Idempotent)
}

// Answered returns the record that answers the effect.
func (e *Effect) Answered(a nextstep.Answer, at time.Time, elapsed time.Duration) Answered {
	return Answered{
		At: at, Effect: e.ID, Frame: e.Frame, Kind: e.Kind, Tool: e.Call.Name, Digest: e.Digest, Answer: a, Elapsed: elapsed,
	}
}

// Exchange is a [Wait] and the answer to it.
type Exchange struct {
	Wait  Wait
	Reply Reply
	Err   *delegation.Error // why there was no reply; nil if there was one
}

// effectState is the progress of an effect.
type effectState uint8

const (
	blocked   effectState = iota // earlier calls of the batch must end first
	judged                       // its branches open when its verdict is stored
	queued                       // waits in the queue, because of Parallel
	intending                    // next in turn, but its intent must be stored first
	open                         // in progress
	asking                       // in progress, and waits for a person
	waiting                      // waits for a person, and is not in progress
	nested                       // its branches are at work
	ended                        // has its result
)

// effect is the Machine's own state of an effect.
type effect struct {
	id       EffectID
	kind     EffectKind
	state    effectState
	frame    *frame
	step     nextstep.NextStep // for a model or a remote
	call     messages.ToolCall // of a tool
	def      *tools.Definition
	own      tools.Tool
	agent    *Agent // the agent that the call names; nil: none
	digest   string
	inTurn   bool // it need not wait for earlier calls
	pending  bool // Ready asks for its Intended record; until that is applied it is not released
	intended bool // the intent of its next start is stored
	approved bool
	edited   bool // a person has changed the arguments of the call
	started  bool // it was released at least once
	begun    bool // it was certainly begun
	inAsk    bool // its goroutine waits in Ask for a person, and does not count for Parallel
	unsure   bool // it was begun when the run broke off, and may have had its effect
	place    int  // position in the queue; see queuedEffect
	reserved delegation.Counts
	waits    []wait
	asked    int // number of its waits so far
	kept     json.RawMessage
	branches *branches
}

// wait is a Wait of an effect, with its answer.
type wait struct {
	Wait
	id     EffectID
	closed bool              // it can no longer be answered
	reply  *Reply            // nil: there was none
	err    *delegation.Error // why there was none
}

// safe is [Effect.Safe].
func (e *effect) safe() bool { return e.kind != EffectTool || e.def.ReadOnly || e.def.Idempotent }

// needsIntent reports whether an Intended must be stored before the effect is released.
func (e *effect) needsIntent() bool {
	return (e.kind == EffectRemote || !e.safe()) && !e.intended
}

// performed reports whether the effect is in progress. A remote delegation is so even before its
// intent is stored: in the journals of earlier releases it has none.
func (e *effect) performed() bool {
	return e.state == open || e.state == asking || e.inAsk || e.kind == EffectRemote && e.state == intending
}

// openWaits yields the open waits of the effect.
func (e *effect) openWaits() iter.Seq[*wait] {
	return func(yield func(*wait) bool) {
		for i := range e.waits {
			if w := &e.waits[i]; !w.closed && !yield(w) {
				return
			}
		}
	}
}

// isWaiting reports whether the effect has an open wait.
func (e *effect) isWaiting() bool {
	for range e.openWaits() {
		return true
	}
	return false
}

// openWait returns the first open wait for which is returns true; nil if there is none.
func (e *effect) openWait(is func(*wait) bool) *wait {
	for w := range e.openWaits() {
		if is(w) {
			return w
		}
	}
	return nil
}

// exchanges returns the questions about the effect, with their answers. It omits closed waits: they
// have no answer, so the effect has to ask again.
func (e *effect) exchanges() []Exchange {
	var all []Exchange
	for i := range e.waits {
		if w := &e.waits[i]; (w.reply != nil || w.err != nil) && w.Kind != WaitApproval && w.Kind != WaitUnknown {
			x := Exchange{Wait: w.Wait, Err: w.err}
			if w.reply != nil {
				x.Reply = *w.reply
			}
			all = append(all, x)
		}
	}
	return all
}

// effect returns e as an Effect for the engine.
func (m *Machine) effect(e *effect) (x Effect) {
	m.fillIn(e, &x)
	return x
}

// fillIn fills in x from e. It writes to x in place, because copying an Effect costs more than
// making one.
func (m *Machine) fillIn(e *effect, x *Effect) {
	f := e.frame
	x.ID, x.Run, x.Namespace, x.Nonce = e.id, m.run, m.started.Namespace, m.started.Nonce
	x.Frame, x.Strategy, x.Depth, x.Kind, x.Step, x.Call = f.name, f.strategy, f.depth, e.kind, e.step, e.call
	x.Left = m.remaining(f).limits()
	x.Wait, x.Record, x.Definition, x.Tool = nil, m.records, e.def, e.own
	x.Replies, x.State, x.Untrusted, x.Approved, x.Digest = e.exchanges(), e.kept, f.branch.untrusted, e.approved, e.digest
}

// person returns the effect of asking somebody.
func (m *Machine) person(e *effect, w *wait) Effect {
	asked := m.effect(e)
	asked.ID, asked.Kind, asked.Wait = w.id, EffectPerson, &w.Wait
	asked.Replies, asked.State = nil, nil
	return asked
}

// find returns the effect with that id that has no result yet; nil if there is none. The id must
// not name a wait.
func (m *Machine) find(id EffectID) *effect {
	i, found := m.parkedAt(id.Seq)
	if !found {
		return nil
	}
	f := m.parked[i]
	e := &f.effect
	if id.Index > 0 {
		if id.Index > len(f.batch.calls) {
			return nil
		}
		e = &f.batch.calls[id.Index-1]
	}
	if e.id != id || e.state == ended {
		return nil
	}
	return e
}

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

// modelStepTaken emits the event of a reply.
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

// answerProblem says why a does not answer the effect; "" if it does. formless is the error if the
// answer has no JSON form.
func answerProblem(e *effect, a nextstep.Answer, formless error) string {
	kind := nextstep.KindExecuteTools
	if e.kind != EffectTool {
		kind = e.step.Kind()
	}
	switch a.(type) {
	case nil:
		return "it is nil"
	case nextstep.APIResponse, nextstep.ToolResult, nextstep.DelegationResult, nextstep.Failure:
	default:
		return "answers are values of the types in package nextstep"
	}
	if !a.Answers(kind) {
		return "it answers another kind of step"
	}
	switch a := a.(type) {
	case nextstep.APIResponse:
		if a.Response == nil {
			return "it holds no response"
		}
		if problem := BadReply(a.Response); problem != "" {
			return "its reply " + problem
		}
	case nextstep.ToolResult:
		if problem := badResult(&e.call, &a); problem != "" {
			return problem
		}
	case nextstep.DelegationResult:
		if problem := badUsage(a.Output.Usage, nil); problem != "" {
			return "its output " + problem
		}
		if c := a.Output.Counts; c.Steps < 0 || c.ModelCalls < 0 || c.ToolCalls < 0 || c.Handoffs < 0 {
			return "its output reports negative counts"
		}
		if a.Output.Cost < 0 || a.Output.Unpriced < 0 {
			return "its output reports a negative cost"
		}
	case nextstep.Failure:
		if problem := badUsage(a.Usage, a.Attempts); problem != "" {
			return "it " + problem
		}
	}
	if formless != nil {
		return "it has no JSON form: " + formless.Error()
	}
	return ""
}

// badResult says why a is not a result of call c; "" if it is. A result may omit the name of its
// tool.
func badResult(c *messages.ToolCall, a *nextstep.ToolResult) string {
	o := &a.Output
	switch {
	case o.CallID != c.ID:
		return fmt.Sprintf("it answers call %.64q, not %.64q", o.CallID, c.ID)
	case o.ToolName != "" && o.ToolName != c.Name:
		return fmt.Sprintf("it names tool %.64q, but call %.64q is of tool %.64q", o.ToolName, c.ID, c.Name)
	case o.Status != "" && o.Status != messages.StatusOK && o.Status != messages.StatusFailed && o.Status != messages.StatusUnknown:
		return fmt.Sprintf("it has the unknown status %.64q", o.Status)
	case o.Reason == tools.ReasonSuspended:
		return "a call that waits has no result: it is answered with Suspended"
	case a.Call != nil && (a.Call.ID != c.ID || a.Call.Name != c.Name):
		return fmt.Sprintf("its call is %.64q of tool %.64q, but the call of the effect is %.64q of %.64q", a.Call.ID, a.Call.Name, c.ID, c.Name)
	}
	return ""
}

// BadReply says what is wrong with a model's reply; "" if nothing is wrong.
func BadReply(r *llmclient.Response) string {
	if problem := badMessage(r.Message); problem != "" {
		return problem
	}
	return badUsage(r.Usage, r.Attempts)
}

// badUsage says what is wrong with the reported usage of a step; "" if nothing is wrong.
func badUsage(u messages.Usage, attempts []llmclient.Attempt) string {
	if negative(u) {
		return "reports a negative usage"
	}
	for _, a := range attempts {
		if negative(a.Usage) {
			return "reports a negative usage of an attempt"
		}
	}
	return ""
}

func negative(u messages.Usage) bool {
	return u.Input < 0 || u.Output < 0 || u.Total < 0 || u.Cached < 0 || u.Reasoning < 0 || u.CacheWrites < 0 || u.Estimated < 0
}

// badMessage says why a reply is not valid in a history; "" if it is valid.
func badMessage(a messages.Assistant) string {
	ids := map[string]bool{}
	for _, part := range a.Content {
		switch c := part.(type) {
		case messages.Text, messages.Thought:
		case messages.ToolCall:
			if c.ID == "" {
				return "holds a call without an id"
			}
			if ids[c.ID] {
				return fmt.Sprintf("holds two calls with the id %.64q", c.ID)
			}
			ids[c.ID] = true
		default:
			return fmt.Sprintf("holds a %T, which is not a part", part)
		}
	}
	return ""
}
