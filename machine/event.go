package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// Event is something that happened in a run. Events are yielded by value and in order.
type Event struct {
	Run    string    `json:"run"`              // the run's id
	Frame  string    `json:"frame"`            // position in the delegation tree, such as "0.1.2"
	Depth  int       `json:"depth"`            // depth of the frame; the root has 1
	Seq    int       `json:"seq"`              // the number of the frame's last step, over the whole run, from 1; 0 before the first
	Record int       `json:"record,omitempty"` // number of the record that caused it; for deltas and progress, of the record after which their effect was released
	Index  int       `json:"index,omitempty"`  // number among the events of that record, from 1; 0: it has no place in a record, such as a delta or Drifted
	Time   time.Time `json:"time"`             // time of the event; for a delta the time when its step began
	Kind   EventKind `json:"kind"`
	Text   string    `json:"text,omitempty"`   // text of deltas and progress
	Detail Detail    `json:"detail,omitempty"` // depends on Kind; nil for deltas
}

// EventKind names what happened.
type EventKind string

// The kinds, each with its [Detail]. A run's events begin with RunStarted or RunResumed, or with a
// RunMigrated before the RunResumed, and end with RunFinished, which is the only terminal event.
const (
	EventRunStarted   EventKind = "run_started"   // RunStarted
	EventRunResumed   EventKind = "run_resumed"   // RunResumed: instead of RunStarted, when a run is resumed
	EventFrameEntered EventKind = "frame_entered" // FrameEntered: a strategy begins
	EventStateChanged EventKind = "state_changed" // StateChanged: its FSM moved
	EventStepTaken    EventKind = "step_taken"    // StepTaken: a step was performed and answered
	EventTextDelta    EventKind = "text_delta"    // Text: a piece of a model's reply
	EventThoughtDelta EventKind = "thought_delta" // Text: a piece of a model's thoughts
	EventCallDelta    EventKind = "call_delta"    // CallDelta, Text: a piece of the arguments of a tool call that a model writes
	EventStepSnapshot EventKind = "step_snapshot" // StepSnapshot: all that has come of a reply, for who follows a run and has missed deltas
	EventToolStarted  EventKind = "tool_started"  // ToolStarted
	EventToolProgress EventKind = "tool_progress" // ToolProgress; Text is the progress
	EventToolFinished EventKind = "tool_finished" // ToolFinished; one for each call, started or not
	EventRetryWaiting EventKind = "retry_waiting" // RetryWaiting: a model's client waits, retries or falls back
	EventWaitStarted  EventKind = "wait_started"  // WaitStarted: the run waits for a person
	EventWaitEnded    EventKind = "wait_ended"    // WaitEnded: a person has answered, or the wait was closed
	EventCompacted    EventKind = "compacted"     // Compacted: old messages of a conversation were summarized or left out
	EventNoted        EventKind = "noted"         // Noting: a note was added to the run
	EventNoteHeard    EventKind = "note_heard"    // Noting: a frame has heard a note, and decides with its next step what comes of it
	EventNoteUnheard  EventKind = "note_unheard"  // Noting: no frame has heard a note, and none will
	EventDrifted      EventKind = "drifted"       // Drifted: the strategies or tools of a resumed run have changed slightly
	EventMigrated     EventKind = "migrated"      // RunMigrated: the run was carried over a change of code
	EventFrameLeft    EventKind = "frame_left"    // FrameLeft: a strategy ended

	EventSnapshotFailed EventKind = "snapshot_failed" // SnapshotFailed: the state of a run that waits could not be saved

	EventRunFinished EventKind = "run_finished" // RunFinished
)

// Detail holds the fields that depend on the kind of an event: one of the structs below, as a
// value.
type Detail interface{ isDetail() }

// RunStarted describes the task of the run.
type RunStarted struct {
	Strategy string            `json:"strategy"`
	Goal     string            `json:"goal,omitempty"`
	Limits   delegation.Limits `json:"limits"`             // limits of the run; negative: no limit
	Metadata map[string]string `json:"metadata,omitempty"` // of the task; read-only
}

// RunResumed describes a resumed run. The event's Seq is the number of its last step.
type RunResumed struct {
	Strategy string            `json:"strategy"` // of the root
	Goal     string            `json:"goal,omitempty"`
	Limits   delegation.Limits `json:"limits"`             // limits of the run from now on
	Left     delegation.Limits `json:"left,omitzero"`      // what is left of the Limits
	Usage    messages.Usage    `json:"usage,omitzero"`     // what the run has used until now
	Cost     messages.Cost     `json:"cost,omitempty"`     // what that cost, in millionths of a dollar
	Unpriced int               `json:"unpriced,omitempty"` // model calls until now that Cost does not include, because they have no price
	Metadata map[string]string `json:"metadata,omitempty"` // of the task; read-only
	Open     []OpenFrame       `json:"open,omitempty"`     // the frames that were entered before, in the order of the tree; read-only
}

// OpenFrame is a frame that goes on where a run is resumed. It is not entered again.
type OpenFrame struct {
	Frame    string         `json:"frame"` // its position in the delegation tree
	Strategy string         `json:"strategy"`
	State    strategy.State `json:"state,omitempty"`   // of the strategy's FSM, where it tells
	CallID   string         `json:"call_id,omitempty"` // the tool call that it answers, of the first frame of a branch
	Tool     string         `json:"tool,omitempty"`    // of that call
}

// FrameEntered describes the input of a strategy. A child sees only those messages of its parent
// that it was given.
type FrameEntered struct {
	Strategy string `json:"strategy"`
	Goal     string `json:"goal,omitempty"`
	Messages int    `json:"messages,omitempty"` // the number of messages that it was given
	Context  Share  `json:"context,omitempty"`  // how much of the parent's conversation they are; "" for the root
	CallID   string `json:"call_id,omitempty"`  // the tool call that it answers, for the first frame of a branch
	Tool     string `json:"tool,omitempty"`     // the tool of that call
	After    string `json:"after,omitempty"`    // the strategy that handed off to this one, which takes its place in the tree; "" if none did

	Limits delegation.Limits `json:"limits,omitzero"` // what the strategy and everything it starts may use: its own limits, within what is left of the limits above it
}

// Share says how much of its parent's conversation a child was given.
type Share string

// The shares.
const (
	ShareGoal   Share = "goal"   // nothing: the child sees only its goal
	ShareChosen Share = "chosen" // some messages
	ShareAll    Share = "all"    // as many messages as the parent's conversation has
)

// StateChanged describes a move of a strategy's FSM. From and To are equal if a rule led back to
// the same state.
type StateChanged struct {
	Strategy string           `json:"strategy,omitempty"` // its name in the Set
	From     strategy.State   `json:"from,omitempty"`
	To       strategy.State   `json:"to"`
	On       strategy.Trigger `json:"on,omitempty"` // the trigger of the rule; "" for a strategy that shows no FSM, and if one method made several moves
}

// StepTaken describes a step that was performed.
type StepTaken struct {
	Kind    nextstep.Kind     `json:"kind"`
	Model   string            `json:"model,omitempty"` // the model that answered, if one did
	Usage   messages.Usage    `json:"usage,omitzero"`  // usage of this step, hidden attempts included
	Cost    messages.Cost     `json:"cost,omitempty"`  // cost of this step, in millionths of a dollar
	Calls   int               `json:"calls,omitempty"` // number of tool calls that the model asked for or that were executed
	Elapsed time.Duration     `json:"elapsed,omitzero"`
	Err     *delegation.Error `json:"error,omitempty"` // why the step could not be performed; nil if it was
	Left    delegation.Limits `json:"left,omitzero"`   // what is left of the limits of the run after this step; negative: no limit
	Anew    *string           `json:"anew,omitempty"`  // why a request does not extend the last one of its frame, see nextstep.GetChatCompletion; nil if it does; read-only

	Unpriced int `json:"unpriced,omitempty"` // model calls of this step that Cost does not include, because they have no price
}

// CallDelta tells which call of a reply the event's Text is a piece of. The reply is not there yet.
type CallDelta struct {
	Index    int    `json:"index"`             // tells the calls of one reply apart; from 0
	CallID   string `json:"call_id,omitempty"` // the id of the call in the reply; "" if it is not known yet
	ToolName string `json:"tool_name"`         // as the model writes it
}

// StepSnapshot replaces everything that was told of a reply before. Deltas that come after it
// continue it.
type StepSnapshot struct {
	Text     string         `json:"text,omitempty"`
	Thoughts string         `json:"thoughts,omitempty"`
	Calls    []CallSnapshot `json:"calls,omitempty"` // as far as CallDeltas told them; read-only
	Later    bool           `json:"later,omitempty"` // what has come is not known here: a snapshot that is Whole follows, and no delta
	Whole    bool           `json:"whole,omitempty"` // Text and Thoughts are those of the reply as it was stored; its calls are in ToolStarted
}

// CallSnapshot is what has come of a call.
type CallSnapshot struct {
	CallDelta
	Arguments string `json:"arguments"`
}

// ToolStarted describes a call that starts.
type ToolStarted struct {
	Call messages.ToolCall `json:"call"`
}

// ToolProgress names a call that made progress; the event's Text is the progress.
type ToolProgress struct {
	CallID   string `json:"call_id"`
	ToolName string `json:"tool_name"`
}

// ToolFinished describes how a call ended.
type ToolFinished struct {
	Output messages.ToolOutput `json:"output"`
}

// RetryWaiting describes what a wrapper of a client does.
type RetryWaiting struct {
	Kind    llmclient.NoticeKind `json:"kind"`
	Model   string               `json:"model,omitempty"`
	Attempt int                  `json:"attempt,omitempty"`
	Wait    time.Duration        `json:"wait,omitzero"`
	Error   string               `json:"error,omitempty"`
	Discard bool                 `json:"discard,omitempty"` // drop the deltas of this step so far
}

// WaitStarted reports that the run needs an answer to continue.
type WaitStarted struct {
	Wait Wait `json:"wait"`
}

// WaitEnded reports that a wait is over.
type WaitEnded struct {
	WaitID string            `json:"wait_id"`
	Reply  *Reply            `json:"reply,omitempty"` // nil: the wait was closed without an answer
	Err    *delegation.Error `json:"error,omitempty"` // why there was no answer: the error of Config.Reply, or what ended the wait
}

// FrameLeft describes how a strategy ended. Usage, Cost and Elapsed cover the frame and all frames
// below it.
type FrameLeft struct {
	Strategy string            `json:"strategy"`
	Result   *string           `json:"result,omitempty"`
	Usage    messages.Usage    `json:"usage,omitzero"`
	Cost     messages.Cost     `json:"cost,omitempty"`
	Unpriced int               `json:"unpriced,omitempty"` // model calls that Cost does not include, because they have no price
	Elapsed  time.Duration     `json:"elapsed,omitzero"`
	Err      *delegation.Error `json:"error,omitempty"`

	Handoff string `json:"successor,omitempty"` // the strategy that it handed off to; "" if the frame has ended for good
}

// RunFinished describes how the run ended. Nothing comes after it.
type RunFinished struct {
	Status   Status            `json:"status"`
	Strategy string            `json:"strategy,omitempty"` // of the root, which may have taken the place of others
	Output   delegation.Output `json:"output"`
	Limits   delegation.Limits `json:"limits,omitzero"` // limits of the run; negative: no limit
	Left     delegation.Limits `json:"left,omitzero"`   // what was left of the Limits at the end
	Waits    []Wait            `json:"waits,omitempty"` // for StatusWaiting
}

// Compacted describes how the conversation of a frame became shorter. It comes before the step
// whose request is the first with the shorter conversation; the journal still has all of it.
type Compacted nextstep.Compaction

// Noting holds a note.
type Noting struct {
	Note int    `json:"note"` // its number in the run, from 1; 0 for a remark, which no strategy hears
	Text string `json:"text"`
}

// Drifted says what has changed since the run was recorded. There is one such event for each frame
// at most.
type Drifted struct {
	What string `json:"what"`
}

// RunMigrated describes a run that was carried over a change of code. What was told before it may
// have been decided by other strategies.
type RunMigrated struct {
	From    string      `json:"from,omitempty"`    // the version of the program that worked on the run before, if known
	Open    []OpenFrame `json:"open,omitempty"`    // the frames that go on, with their strategies and states as they are now; read-only
	Skipped int         `json:"skipped,omitempty"` // the records before this one that the strategies of this program do not fit; nothing was told of them
}

// SnapshotFailed says why no snapshot of a run that waits was saved. The run is not affected, but
// cannot be carried over a change of code.
type SnapshotFailed struct {
	Error string `json:"error,omitempty"`
}

func (RunStarted) isDetail()     {}
func (RunResumed) isDetail()     {}
func (FrameEntered) isDetail()   {}
func (StateChanged) isDetail()   {}
func (StepTaken) isDetail()      {}
func (CallDelta) isDetail()      {}
func (StepSnapshot) isDetail()   {}
func (ToolStarted) isDetail()    {}
func (ToolProgress) isDetail()   {}
func (ToolFinished) isDetail()   {}
func (RetryWaiting) isDetail()   {}
func (WaitStarted) isDetail()    {}
func (WaitEnded) isDetail()      {}
func (Compacted) isDetail()      {}
func (Noting) isDetail()         {}
func (Drifted) isDetail()        {}
func (RunMigrated) isDetail()    {}
func (SnapshotFailed) isDetail() {}
func (FrameLeft) isDetail()      {}
func (RunFinished) isDetail()    {}

// Status says how a run ended.
type Status string

// The statuses. Only StatusDone is success.
const (
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
	StatusLimit   Status = "limit"   // a limit was reached
	StatusStopped Status = "stopped" // the caller or a deadline stopped it
	StatusWaiting Status = "waiting" // the run waits for a person

	// Of a run that has not ended, though the process does not go on with it: its journal could not
	// be written, or the process was told to leave it. It can be resumed.
	StatusInterrupted Status = "interrupted"

	// Of a run that has not ended, and that another process goes on with.
	StatusTakenOver Status = "taken_over"
)

// UnmarshalJSON decodes the JSON form of an event. The detail becomes the struct that belongs to
// the kind. A detail of an unknown kind is an error that names the kind.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	var raw struct {
		*plain
		Detail json.RawMessage `json:"detail"`
	}
	var read plain
	raw.plain = &read
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("machine: event: %w", err)
	}
	detail, err := readDetail(read.Kind, raw.Detail)
	if err != nil {
		return fmt.Errorf("machine: event %q: %w", read.Kind, err)
	}
	*e = Event(read)
	e.Detail = detail
	return nil
}

// details maps each kind of the library to its detail; nil: the kind has none.
var details = map[EventKind]Detail{
	EventRunStarted:   RunStarted{},
	EventRunResumed:   RunResumed{},
	EventFrameEntered: FrameEntered{},
	EventStateChanged: StateChanged{},
	EventStepTaken:    StepTaken{},
	EventTextDelta:    nil,
	EventThoughtDelta: nil,
	EventCallDelta:    CallDelta{},
	EventStepSnapshot: StepSnapshot{},
	EventToolStarted:  ToolStarted{},
	EventToolProgress: ToolProgress{},
	EventToolFinished: ToolFinished{},
	EventRetryWaiting: RetryWaiting{},
	EventWaitStarted:  WaitStarted{},
	EventWaitEnded:    WaitEnded{},
	EventCompacted:    Compacted{},
	EventNoted:        Noting{},
	EventNoteHeard:    Noting{},
	EventNoteUnheard:  Noting{},
	EventDrifted:      Drifted{},
	EventMigrated:     RunMigrated{},

	EventSnapshotFailed: SnapshotFailed{},

	EventFrameLeft:   FrameLeft{},
	EventRunFinished: RunFinished{},
}

// Reserved reports whether only the library may emit events of this kind.
func (k EventKind) Reserved() bool {
	_, ok := details[k]
	return ok
}

// readDetail decodes the detail of an event of that kind.
func readDetail(kind EventKind, data json.RawMessage) (Detail, error) {
	switch detail, ok := details[kind]; {
	case detail != nil:
		read := reflect.New(reflect.TypeOf(detail))
		if err := json.Unmarshal(data, read.Interface()); err != nil {
			return nil, err
		}
		return read.Elem().Interface().(Detail), nil
	case ok || len(data) == 0 || string(data) == "null": // a user's own kind has no detail
		return nil, nil
	default:
		return nil, errors.New("no event of this kind has a detail")
	}
}

// stepTaken emits the event of an answered step.
func (m *Machine) stepTaken(f *frame, s StepTaken) {
	if !m.cfg.Quiet {
		s.Left = m.remaining(m.root).limits()
		m.emit(f, EventStepTaken, s)
	}
}

// emit adds an event of a frame, with the number of its last step.
func (m *Machine) emit(f *frame, kind EventKind, detail Detail) { m.emitFor(f, f.seq, kind, detail) }

// emitFor adds an event of a step of a frame. It writes the event in place, because copying one
// costs more than the rest of this function.
func (m *Machine) emitFor(f *frame, seq int, kind EventKind, detail Detail) {
	m.index++
	n := len(m.out.Events)
	m.out.Events = slices.Grow(m.out.Events, max(1, 4-n))[:n+1] // a record has some four events
	e := &m.out.Events[n]
	e.Run, e.Frame, e.Depth, e.Seq, e.Record, e.Index = m.run, f.name, f.depth, seq, m.records, m.index
	e.Kind, e.Text, e.Detail, e.Time = kind, "", detail, time.Time{}
}
