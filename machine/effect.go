package machine

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
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
