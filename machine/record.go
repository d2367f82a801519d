package machine

import (
	"encoding/json"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Record is something that happened to a run. Only records change a run. A Record is one of
// [Started], [Resumed], [Intended], [Answered], [Asked], [Suspended], [Replied], [Noted], [Stopped]
// and [Migrated], as a value. Each carries the time at which the engine made it; a Machine reads no
// clock. [AppendRecord] and [ReadRecord] are the JSON form.
type Record interface{ isRecord() }

// Started begins a run. It is the first record, and holds all external settings of the run, so that
// later changes of defaults and definitions do not affect it. [Config.Start] fills in missing
// fields.
type Started struct {
	At       time.Time         `json:"at"`
	Run      string            `json:"run"` // the run's id
	Strategy string            `json:"strategy"`
	Input    delegation.Input  `json:"input"`
	Limits   delegation.Limits `json:"limits"`

	Parallel  int                `json:"parallel"`             // most effects in progress at once, without questions to people
	Tools     []tools.Definition `json:"tools,omitzero"`       // tools of the run, with their definitions now; nil: those of the Config
	Expires   time.Duration      `json:"expires,omitempty"`    // time after which an approval expires; negative: never
	StopNote  string             `json:"stop_note,omitempty"`  // see Config
	MaxResult int                `json:"max_result,omitempty"` // maximum size of an agent's result in bytes; negative: none

	// Model and Temperature apply to every request of the run, also of children and agents, that
	// does not set its own. "" and nil set nothing.
	Model       string   `json:"model,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`

	// TaskStrategy says that the task brought its own factory for Strategy: the caller of Apply has
	// to put this factory into Config.Strategies.
	TaskStrategy bool `json:"task_strategy,omitempty"`

	// These come from the task. The Machine emits Metadata in an event, and does not use them
	// otherwise.
	Metadata  map[string]string `json:"metadata,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Namespace string            `json:"namespace,omitempty"` // the tenant of the run, if one store holds runs of several tenants
	Origin    *Origin           `json:"origin,omitempty"`    // the run that this one was made from

	// Repeats is how often a model may make the same call again while it has the same result and
	// nothing is new, see [Config]. 0, as in journals of earlier releases, and negative: any number.
	Repeats int `json:"repeats,omitempty"`

	// Conclude says that calls beyond a limit of tool calls are answered once, so that the strategy
	// can conclude. [Config.Start] sets it; in journals of earlier releases it is false.
	Conclude bool `json:"conclude,omitempty"`

	// Nonce tells the run from others that had the same id before and were deleted: a random text,
	// without a slash, that is in the keys of its effects. "" for an id that is not used again.
	Nonce string `json:"nonce,omitempty"`

	Fingerprints map[string]string `json:"fingerprints,omitempty"` // fingerprints of the tables of the strategies, by name
	Library      string            `json:"library,omitempty"`      // the version of this library that began the run
}

// Origin names the run from which a run was made.
type Origin struct {
	Run    string `json:"run"`
	Record int    `json:"record,omitempty"` // the last record that both runs share; 0: the run is not a fork
}

// Resumed says that a run continues from its journal, in any process: its open effects must be
// started again.
type Resumed struct {
	At      time.Time         `json:"at"`
	Limits  delegation.Limits `json:"limits,omitzero"`  // new limits of the run; zero fields do not change
	Unknown Unknown           `json:"unknown,omitzero"` // what to do with calls that may have had their effect
}

// Unknown says what to do, when a run is resumed, with a call that was started, has no result, and
// is neither read-only nor idempotent. Such a call may have had its effect.
type Unknown string

// The choices.
const (
	UnknownAsk  Unknown = ""     // a person is asked, with a Wait of kind WaitUnknown
	UnknownTell Unknown = "tell" // the strategy is told: the call has the status unknown
)

// Intended stores the decision about a call before the decision is carried out. It precedes every
// start of a call that is neither read-only nor idempotent. There is also one for every call of an
// agent, and for every call with another verdict than VerdictAllow. [Ready].Intents asks for it.
//
// With the Kind EffectRemote it precedes every start of a remote delegation, with VerdictAllow: what
// [Effect.Key] identifies is stored before another service is given the key. Journals of earlier
// releases have none.
type Intended struct {
	At      time.Time  `json:"at"`
	Effect  EffectID   `json:"effect"`
	Frame   string     `json:"frame"`
	Kind    EffectKind `json:"kind,omitempty"` // EffectRemote; "": a call
	Tool    string     `json:"tool"`
	Digest  string     `json:"digest,omitempty"`
	Verdict Verdict    `json:"verdict"`
}

// Answered ends an effect. [Effect.Answered] makes one. Frame, Kind, Tool and Digest describe the
// effect: a replay compares them with its own effect.
//
// NotBegun says that a released effect was never begun. If its frame is ending, the effect is over,
// and its reserved budget is returned. Otherwise it must be a call with an Intended, in a process
// that stops working on the run: the call is made after a Resumed, and nobody is asked whether it
// had its effect.
type Answered struct {
	At       time.Time       `json:"at"`
	Effect   EffectID        `json:"effect"`
	Frame    string          `json:"frame,omitempty"`
	Kind     EffectKind      `json:"kind,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Elapsed  time.Duration   `json:"elapsed,omitempty"`   // duration since its start, as the engine measured it
	Cost     messages.Cost   `json:"cost,omitempty"`      // cost of a model's answer, see [Answered.Priced]; a replay charges the same
	Unpriced int             `json:"unpriced,omitempty"`  // number of its requests to models without a price
	NotBegun bool            `json:"not_begun,omitempty"` // it was released and never begun; see above
	Answer   nextstep.Answer `json:"answer,omitempty"`    // nil with NotBegun
}

// Asked says that an effect in progress waits for a person.
type Asked struct {
	At     time.Time `json:"at"`
	Effect EffectID  `json:"effect"`
	Wait   Wait      `json:"wait"` // with its ID, see [Wait.Identified]
}

// Suspended says that an effect has returned without an answer because it waits for a person. It is
// released again, with the replies, when all of its waits are answered.
type Suspended struct {
	At      time.Time       `json:"at"`
	Effect  EffectID        `json:"effect"`
	Waits   []Wait          `json:"waits"` // with their IDs; at least one must be open
	State   json.RawMessage `json:"state,omitempty"`
	Elapsed time.Duration   `json:"elapsed,omitempty"`
}

// Replied ends a wait: with a Reply, because it expired, or because nobody could be asked (Err).
type Replied struct {
	At      time.Time         `json:"at"`
	Reply   Reply             `json:"reply"` // WaitID is always set
	Expired bool              `json:"expired,omitempty"`
	Err     *delegation.Error `json:"error,omitempty"`
}

// Noted adds a note to the run. Each frame that lives then, and whose strategy is a
// [strategy.Listener], hears it right before it is given its next answer. Apply refuses a text of
// more than [MaxNote] bytes.
type Noted struct {
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
	Remark bool      `json:"remark,omitempty"` // for people who read the run: no strategy hears it
}

// Stopped ends a run, or one frame of it with everything it started. Queued effects and waits are
// closed at once. Effects in progress finish first; with Now they are cut off.
type Stopped struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Now    bool      `json:"now,omitempty"`
	Frame  string    `json:"frame,omitempty"` // "": the root, which is the whole run
}

// Migrated carries a waiting run over a change of code: from here on the run is what the Snapshot
// says, whatever the records before it have come to. A Machine that cannot apply an earlier record
// may go on with this one, and one without any record may begin with it. The strategies must be
// those that the Snapshot names, with the tables that it has the fingerprints of.
type Migrated struct {
	At       time.Time `json:"at"`
	From     string    `json:"from,omitempty"` // the version of the program that made the Snapshot, for people
	Snapshot Snapshot  `json:"snapshot"`
}

func (Started) isRecord()   {}
func (Resumed) isRecord()   {}
func (Intended) isRecord()  {}
func (Answered) isRecord()  {}
func (Asked) isRecord()     {}
func (Suspended) isRecord() {}
func (Replied) isRecord()   {}
func (Noted) isRecord()     {}
func (Stopped) isRecord()   {}
func (Migrated) isRecord()  {}
