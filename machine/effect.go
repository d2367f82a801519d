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

// EffectID names an effect within its run. Its text is "3" for the one effect of step 3, "3/2" for
// the second call of the batch that is step 3, and "3/2/1" for the first thing that a person is
// asked about that call. It is the same after a replay.
type EffectID struct {
	Seq   int // the number of the step, over the whole run, from 1
	Index int // of the call in its batch, from 1; 0: the effect is no call of a batch
	Wait  int // of what a person is asked about the effect, from 1; 0: the effect is no question
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

// UnmarshalText reads what MarshalText wrote.
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

// EffectKind says who performs an [Effect].
type EffectKind string

// The kinds.
const (
	EffectModel  EffectKind = "model"  // a model answers Step, a nextstep.GetChatCompletion; with an APIResponse
	EffectTool   EffectKind = "tool"   // a tool makes Call; answered with a ToolResult
	EffectRemote EffectKind = "remote" // another service performs Step, a nextstep.Delegate; with a DelegationResult
	EffectPerson EffectKind = "person" // somebody answers Wait; with a Replied record
)

// Effect is something to be done outside. Each is answered by one record: [Answered], or
// [Suspended] if it has to wait for somebody, or for an EffectPerson [Replied].
//
// An Effect is a value: a middleware may hand on a changed copy, with another Step or other
// arguments in Call, or make one by hand in a test.
type Effect struct {
	ID     EffectID
	Run    string
	Frame  string // whose effect it is, by its place in the tree: "0.1.2"
	Depth  int    // of the frame; the root's is 1
	Kind   EffectKind
	Step   nextstep.NextStep // of a model or a remote; read-only
	Call   messages.ToolCall // of a tool
	Wait   *Wait             // of a person; read-only
	Record int               // the record after which the effect was released

	Definition *tools.Definition // of the tool, as it was when the run began; read-only
	Tool       tools.Tool        // where the strategy brought the tool; nil if it is one of the run's

	Replies   []Exchange        // what was asked before about this effect, with the answers; read-only
	State     json.RawMessage   // what it left when it was suspended
	Left      delegation.Limits // of the limits of its frame and all above it, when it was released; negative: there is no limit
	Untrusted bool              // text from outside has been read, which may have led to this
	Approved  bool              // a person approved the call with these arguments, and no others
	Digest    string            // of the step or the call; "" unless [Config].Durable
}

// Key identifies an effect within all runs, whenever it is made: "run/seq/index".
func (e *Effect) Key() string {
	return e.Run + "/" + strconv.Itoa(e.ID.Seq) + "/" + strconv.Itoa(e.ID.Index)
}

// Safe reports whether the effect may be performed again when nobody knows whether it was: a model
// is asked again, a remote is handed the same step again, a tool is read-only or idempotent.
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

// effectState is how far an effect has come.
type effectState uint8

const (
	blocked   effectState = iota // calls before it have to end
	judged                       // it opens branches, once its verdict is stored
	queued                       // it waits for a place
	intending                    // it has its place, and waits for its intent to be stored
	open                         // it is performed
	asking                       // it is performed, and waits for somebody
	waiting                      // it waits for somebody, and nobody performs it
	nested                       // branches answer it
	ended                        // it has its result
)

// effect is an effect of a frame as the Machine keeps it.
type effect struct {
	id       EffectID
	kind     EffectKind
	state    effectState
	frame    *frame
	step     nextstep.NextStep // of a model or a remote
	call     messages.ToolCall // of a tool
	def      *tools.Definition
	own      tools.Tool
	agent    *Agent // whose branches answer the call; nil: none
	digest   string
	inTurn   bool // no call before it has to end first
	pending  bool // Ready asks for an Intended record of it; until then it is not handed out
	intended bool // the intent of its next start is stored
	approved bool
	started  bool // it was released once
	begun    bool // somebody has begun to perform it, for certain
	inAsk    bool // whoever performs it waits in Ask for somebody, and keeps it while it has no place
	unsure   bool // it was begun, and may have had its effect, when the run broke off
	place    int  // in the queue; see queuedEffect
	reserved delegation.Counts
	waits    []wait
	asked    int // how many waits it has had
	kept     json.RawMessage
	branches *branches
}

// wait is a Wait of an effect.
type wait struct {
	Wait
	id     EffectID
	closed bool              // nobody answers it any more
	reply  *Reply            // nil: there was none
	err    *delegation.Error // why there was none
}

// safe is [Effect.Safe].
func (e *effect) safe() bool { return e.kind != EffectTool || e.def.ReadOnly || e.def.Idempotent }

// needsIntent reports whether an Intended record has to stand before the effect is released.
func (e *effect) needsIntent() bool { return !e.safe() && !e.intended }

// performed reports whether somebody performs the effect.
func (e *effect) performed() bool { return e.state == open || e.state == asking || e.inAsk }

// openWaits yields what the effect waits for.
func (e *effect) openWaits() iter.Seq[*wait] {
	return func(yield func(*wait) bool) {
		for i := range e.waits {
			if w := &e.waits[i]; !w.closed && !yield(w) {
				return
			}
		}
	}
}

// isWaiting reports whether somebody has to answer first.
func (e *effect) isWaiting() bool {
	for range e.openWaits() {
		return true
	}
	return false
}

// openWait returns the open wait for which is says so; nil if there is none.
func (e *effect) openWait(is func(*wait) bool) *wait {
	for w := range e.openWaits() {
		if is(w) {
			return w
		}
	}
	return nil
}

// exchanges returns what was asked and answered about the effect. A wait that was closed was not
// answered: whoever is performing the effect now has to ask again.
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

// effect returns e as it is handed out.
func (m *Machine) effect(e *effect) (x Effect) {
	m.fillIn(e, &x)
	return x
}

// fillIn makes x what is handed out of e. It is filled in where it lies: to copy one costs more
// than to make it.
func (m *Machine) fillIn(e *effect, x *Effect) {
	f := e.frame
	x.ID, x.Run, x.Frame, x.Depth, x.Kind, x.Step, x.Call = e.id, m.run, f.name, f.depth, e.kind, e.step, e.call
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

// find returns the effect of that id which has no result yet; nil if there is none. A wait of it is
// not meant.
func (m *Machine) find(id EffectID) *effect {
	f := m.parked[id.Seq]
	if f == nil {
		return nil
	}
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
