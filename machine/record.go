package machine

import (
	"encoding/json"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Record is something that happened to a run: the only thing that changes one. It is one of
// [Started], [Resumed], [Intended], [Answered], [Asked], [Suspended], [Replied], [Noted] and
// [Stopped], as a value. Each carries the time at which the engine made it; a Machine reads no
// clock. [AppendRecord] and [ReadRecord] are the JSON form.
type Record interface{ isRecord() }

// Started begins a run. It is the first record, and holds all that steers the run from outside, so
// that other defaults and other definitions later change nothing. [Config.Start] fills in what is
// not given.
type Started struct {
	At       time.Time         `json:"at"`
	Run      string            `json:"run"` // the run's id
	Strategy string            `json:"strategy"`
	Input    delegation.Input  `json:"input"`
	Limits   delegation.Limits `json:"limits"`

	Parallel  int                `json:"parallel"`             // most effects at once that somebody performs; people aside
	Tools     []tools.Definition `json:"tools,omitzero"`       // that the run may use, as they are now; nil: those of the Config
	Expires   time.Duration      `json:"expires,omitempty"`    // how long an approval may be given; negative: for ever
	StopNote  string             `json:"stop_note,omitempty"`  // see Config
	MaxResult int                `json:"max_result,omitempty"` // bytes of an agent's result that are kept; negative: all

	// Model and Temperature hold for every request of the run, those of children and agents too,
	// that leaves its own open: "" and nil.
	Model       string   `json:"model,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`

	// TaskStrategy says that Strategy is made by a factory of the task's own: whoever applies the
	// record has to bring the factory in Config.Strategies.
	TaskStrategy bool `json:"task_strategy,omitempty"`

	// Of the task. The Machine tells Metadata, and does nothing else with any of them.
	Metadata  map[string]string `json:"metadata,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Namespace string            `json:"namespace,omitempty"` // whose run it is, where runs of several tenants lie together
	Origin    *Origin           `json:"origin,omitempty"`    // the run that this one was made from

	Fingerprints map[string]string `json:"fingerprints,omitempty"` // of the tables of the strategies, by name
	Library      string            `json:"library,omitempty"`      // the version of this library that began the run
}

// Origin is what a run was made from.
type Origin struct {
	Run    string `json:"run"`
	Record int    `json:"record,omitempty"` // the last record that both have in common; 0: the run is no fork
}

// Resumed says that a run goes on from its journal, in whatever process: what is open has to be
// started again.
type Resumed struct {
	At      time.Time         `json:"at"`
	Limits  delegation.Limits `json:"limits,omitzero"`  // of the run from now on; zero fields stay
	Unknown Unknown           `json:"unknown,omitzero"` // what becomes of calls that may have had their effect
}

// Unknown says what becomes of a call that is neither read-only nor idempotent, was started, and
// has no result when the run is resumed: it may have had its effect.
type Unknown string

// The choices.
const (
	UnknownAsk  Unknown = ""     // a person is asked, with a Wait of kind WaitUnknown
	UnknownTell Unknown = "tell" // the strategy is told: the call has the status unknown
)

// Intended says what was decided about a call, before anything is done about it. It stands before
// every start of a call that is neither read-only nor idempotent, and for every call that opens
// branches, or that is not simply allowed. [Ready].Intents asks for it.
type Intended struct {
	At      time.Time `json:"at"`
	Effect  EffectID  `json:"effect"`
	Frame   string    `json:"frame"`
	Tool    string    `json:"tool"`
	Digest  string    `json:"digest,omitempty"`
	Verdict Verdict   `json:"verdict"`
}

// Answered ends an effect. [Effect.Answered] makes one. Frame, Kind, Tool and Digest are those of
// the effect: a replay compares them with what it comes to.
//
// NotBegun says that nobody has begun to perform an effect that was released. If its frame ends,
// the effect is over, and what it would have used is given back. Else it must be a call that an
// Intended stands for, of a run whose process goes away: the call is still to be made, and after a
// Resumed nobody is asked whether it was.
type Answered struct {
	At       time.Time       `json:"at"`
	Effect   EffectID        `json:"effect"`
	Frame    string          `json:"frame,omitempty"`
	Kind     EffectKind      `json:"kind,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Elapsed  time.Duration   `json:"elapsed,omitempty"`   // from its start, as whoever performed it measured
	Cost     messages.Cost   `json:"cost,omitempty"`      // of a model's answer, see [Answered.Priced]; a replay charges the same
	Unpriced int             `json:"unpriced,omitempty"`  // requests of it whose tokens have no price
	NotBegun bool            `json:"not_begun,omitempty"` // it was released and never begun; see below
	Answer   nextstep.Answer `json:"answer,omitempty"`    // nil with NotBegun
	Ref      *Reference      `json:"ref,omitempty"`       // in the place of Answer, where that is kept elsewhere: whoever reads the record puts it in
}

// Reference names a large value that is kept beside a journal.
type Reference struct {
	Hash string `json:"hash"` // of the value, with the name of the function: "sha256:…"
	Size int64  `json:"size"` // in bytes
	Type string `json:"type"` // of the value, as a media type
}

// Asked says that an effect which goes on waits for somebody.
type Asked struct {
	At     time.Time `json:"at"`
	Effect EffectID  `json:"effect"`
	Wait   Wait      `json:"wait"` // with its ID, see [Wait.Identified]
}

// Suspended says that an effect has returned without an answer, since it waits for somebody. It is
// released again, with the replies, once all of its waits are answered.
type Suspended struct {
	At      time.Time       `json:"at"`
	Effect  EffectID        `json:"effect"`
	Waits   []Wait          `json:"waits"` // with their IDs; at least one that is not answered
	State   json.RawMessage `json:"state,omitempty"`
	Elapsed time.Duration   `json:"elapsed,omitempty"`
}

// Replied ends a wait: with a Reply, by its expiry, or because nobody could be asked (Err).
type Replied struct {
	At      time.Time         `json:"at"`
	Reply   Reply             `json:"reply"` // WaitID says which wait it is, in any case
	Expired bool              `json:"expired,omitempty"`
	Err     *delegation.Error `json:"error,omitempty"`
}

// Noted keeps a note with the run. It changes nothing else.
type Noted struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Stopped ends a run, or one frame of it with all that it started. What is queued or waits is
// closed at once. What is performed comes to its end first; with Now it is to be cut off.
type Stopped struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
	Now    bool      `json:"now,omitempty"`
	Frame  string    `json:"frame,omitempty"` // "": the root, so the run
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
