package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// snapshotFormat is the format of the JSON form of a [Snapshot] that this package writes and reads.
const snapshotFormat = 1

// Snapshot is the whole state of a waiting run: all that its records have come to, so that the run
// can go on without them. [Machine.Snapshot] makes one; a [Migrated] gives it to a Machine.
//
// A Snapshot that [ReadSnapshot] returned may be changed, to carry the run over a change of code:
// usually Strategy, Fingerprint, Position and Memory of its Frames. One from [Machine.Snapshot] is
// read-only.
type Snapshot struct {
	Format   int             `json:"format"`              // 1
	Started  Started         `json:"started"`             // the record that began the run
	Records  int             `json:"records"`             // the number of records that the snapshot stands for
	Seq      int             `json:"seq"`                 // the number of the last step
	Now      time.Time       `json:"now"`                 // time of the last record
	Active   time.Duration   `json:"active,omitempty"`    // active time of the run
	Notes    []NoteSnapshot  `json:"notes,omitempty"`     // the notes that a frame is still to hear, and those that nobody has heard
	LastNote int             `json:"last_note,omitempty"` // the number of the last note
	Frames   []FrameSnapshot `json:"frames"`              // the live frames: each before those that it started; the first is the root
}

// FrameSnapshot is the state of a frame. A frame waits for its Effect or its Calls; without any it
// waits for the child that it delegated to.
type FrameSnapshot struct {
	Name        string             `json:"name"`                  // position in the delegation tree: "0.1.2"
	Strategy    string             `json:"strategy"`              // by its name in the Set
	After       string             `json:"after,omitempty"`       // the strategy that handed off to it; "" if none did
	Fingerprint string             `json:"fingerprint,omitempty"` // of the table of the strategy; "": it has none
	Position    *strategy.Position `json:"position,omitempty"`    // of its FSM; nil if it is no [strategy.Tabler]
	Memory      json.RawMessage    `json:"memory,omitempty"`      // see [strategy.Snapshotter]

	Seq     int              `json:"seq"` // the number of its last step
	Input   delegation.Input `json:"input"`
	Request messages.History `json:"request,omitempty"` // the messages of its last request
	Answers []answerSnapshot `json:"answers,omitempty"` // the answers since then
	Unseen  messages.History `json:"unseen,omitempty"`  // messages that the strategy has not seen
	Tools   []string         `json:"tools,omitzero"`    // the tools of the run that it may use; nil: those of the frame above
	Offered []string         `json:"offered,omitempty"` // the tools that its last request offered

	Limits   delegation.Limits `json:"limits"`             // its own; negative: none
	Used     usageSnapshot     `json:"used,omitzero"`      // by it and all frames below it
	Began    time.Duration     `json:"began,omitempty"`    // active time of the run when it began
	Children int               `json:"children,omitempty"` // the number of frames that it has started
	Heard    int               `json:"heard,omitempty"`    // the notes up to this number are not for it, or were heard
	Told     bool              `json:"told,omitempty"`     // a limit of tool calls was told, to it or to a frame below it

	Branch *branchSnapshot  `json:"branch,omitempty"` // of the root, and of the first frame of a branch
	Effect *effectSnapshot  `json:"effect,omitempty"` // the request or remote delegation that it waits for
	Calls  []effectSnapshot `json:"calls,omitempty"`  // the calls that it waits for, in order, those with a result included
	Took   time.Duration    `json:"took,omitempty"`   // sum of the durations of the Calls with a result
}

// answerSnapshot is an answer to a step of a frame: one of its fields, or none.
type answerSnapshot struct {
	Reply   *messages.Assistant   `json:"reply,omitempty"`
	Results []messages.ToolOutput `json:"results,omitempty"`
	Partial *messages.Assistant   `json:"partial,omitempty"` // of a reply that did not arrive whole
}

// usageSnapshot is what a frame and all frames below it have used.
type usageSnapshot struct {
	Counts   delegation.Counts `json:"counts,omitzero"` // including what open effects have reserved
	Tokens   messages.Usage    `json:"tokens,omitzero"`
	Cost     messages.Cost     `json:"cost,omitempty"`
	Unpriced int               `json:"unpriced,omitempty"`
	Elapsed  time.Duration     `json:"elapsed,omitempty"`
}

// branchSnapshot is the state of a branch.
type branchSnapshot struct {
	Call      EffectID `json:"call,omitzero"`   // the call that it answers; zero for the root
	Place     int      `json:"place,omitempty"` // its number among the branches of the call, from 0
	Untrusted bool     `json:"untrusted,omitempty"`
	Source    string   `json:"source,omitempty"` // the first source of untrusted text, for people
}

// effectSnapshot is the state of an effect: of a request or a remote delegation (Kind and Step), or
// of a call (Call).
type effectSnapshot struct {
	State string            `json:"state,omitempty"` // "waiting", "blocked" or "nested", see [EffectView]; "": the call has its Result
	Kind  EffectKind        `json:"kind"`
	Step  json.RawMessage   `json:"step,omitempty"` // in the form of [nextstep.Marshal]
	Call  messages.ToolCall `json:"call,omitzero"`

	Result *messages.ToolOutput `json:"result,omitempty"`
	Made   *messages.ToolCall   `json:"made,omitempty"`   // the call as it was made, if that is not as the model wrote it
	Agent  bool                 `json:"agent,omitempty"`  // it is a call of an agent
	Digest string               `json:"digest,omitempty"` // of the step or the call

	InTurn   bool              `json:"in_turn,omitempty"`  // it need not wait for earlier calls
	Intended bool              `json:"intended,omitempty"` // the intent of its next start is stored
	Approved bool              `json:"approved,omitempty"` // a person has approved it
	Started  bool              `json:"started,omitempty"`  // it was released at least once
	Begun    bool              `json:"begun,omitempty"`    // it was certainly begun
	Unsure   bool              `json:"unsure,omitempty"`   // it may have had its effect
	Reserved delegation.Counts `json:"reserved,omitzero"`

	Waits   []WaitSnapshot   `json:"waits,omitempty"`   // all that it has waited for, in order
	Kept    json.RawMessage  `json:"kept,omitempty"`    // its own state, see [Suspended]
	Results []resultSnapshot `json:"results,omitempty"` // of its branches, empty ones for those that are at work; nil if it has a Result that is all of them
	Several bool             `json:"several,omitempty"` // its result is a list
	Tainted bool             `json:"tainted,omitempty"` // a branch that has ended has read text from outside
}

// resultSnapshot is the result of a branch that has ended.
type resultSnapshot struct {
	Text   string `json:"text,omitempty"`
	Failed bool   `json:"failed,omitempty"`

	// For a strategy that is a [strategy.BranchInheritor]: the whole output, and whether there was
	// no child to make one.
	Output  *delegation.Output `json:"output,omitempty"`
	NoChild bool               `json:"no_child,omitempty"`
}

// WaitSnapshot is something that an effect waits for, or has waited for.
type WaitSnapshot struct {
	Wait   Wait              `json:"wait"`
	Closed bool              `json:"closed,omitempty"` // it can no longer be answered
	Reply  *Reply            `json:"reply,omitempty"`
	Err    *delegation.Error `json:"error,omitempty"` // why there was no reply
}

// Frame returns the frame with that name; nil if there is none.
func (s *Snapshot) Frame(name string) *FrameSnapshot {
	i := slices.IndexFunc(s.Frames, func(f FrameSnapshot) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Frames[i]
}

// Of yields the frames of a strategy.
func (s *Snapshot) Of(name string) iter.Seq[*FrameSnapshot] {
	return func(yield func(*FrameSnapshot) bool) {
		for i := range s.Frames {
			if f := &s.Frames[i]; f.Strategy == name && !yield(f) {
				return
			}
		}
	}
}

// Become makes the frame one of the strategy of that name in the set, which may be the name that it
// has, with the table that this strategy has now. It says that whoever calls it has looked at the
// change: Position and Memory, which do not change, must be such as the strategy knows.
func (f *FrameSnapshot) Become(set strategy.Set, name string) {
	f.Strategy, f.Fingerprint = name, Fingerprint(set, name)
}

// AppendSnapshot appends the JSON form of a snapshot to dst: an object on one line, with the fields
// that the tags declare. The same snapshot gives the same bytes. The error says why it has no such
// form.
func AppendSnapshot(dst []byte, s *Snapshot) ([]byte, error) {
	text, err := nextstep.Encode(s)
	if err != nil {
		return nil, fmt.Errorf("machine: the snapshot of run %.64q has no JSON form: %w", s.Started.Run, err)
	}
	return append(dst, bytes.ToValidUTF8(text, []byte("\uFFFD"))...), nil
}

var snapshotForm = jsonform.Of[Snapshot]()

// ReadSnapshot decodes the output of [AppendSnapshot]. It is strict, as [ReadRecord] is: another
// format, an unknown field and a missing required field are errors that name it.
func ReadSnapshot(data []byte) (Snapshot, error) {
	var head struct{ Format int }
	err := json.Unmarshal(data, &head)
	if err == nil && head.Format != snapshotFormat {
		err = badFormat(head.Format)
	}
	var s Snapshot
	if err == nil {
		s, err = snapshotForm.Read(data)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("machine: the snapshot cannot be read: %w", err)
	}
	return s, nil
}

func badFormat(format int) error {
	return fmt.Errorf("it has the format %d, and this version of the library reads %d", format, snapshotFormat)
}

// check returns an error if the snapshot has another format.
func (s *Snapshot) check() error {
	if s.Format != snapshotFormat {
		return errors.New("its snapshot cannot be read: " + badFormat(s.Format).Error())
	}
	return nil
}

// SnapshotError says why there can be no snapshot of a run now, or why the strategies of a Config
// cannot go on from one. The Machine is unchanged.
type SnapshotError struct {
	Run      string
	Frame    string // "" if it is about the whole run
	Strategy string // of that frame
	Recorded string // with Now: fingerprint of the table that the snapshot was made for
	Now      string // fingerprint of the table that the strategy has
	Problem  string
	Err      error // the cause; may be nil
}

// Error names the run, the frame and the strategy.
func (e *SnapshotError) Error() string {
	text := fmt.Sprintf("machine: the snapshot of run %.64q", e.Run)
	if e.Frame != "" {
		text += fmt.Sprintf(", frame %s: strategy %q", e.Frame, e.Strategy)
	}
	text += ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *SnapshotError) Unwrap() error { return e.Err }
