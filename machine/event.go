package machine

import (
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
	Frame  string    `json:"frame"`            // where: a position in the delegation tree, such as "0.1.2"
	Depth  int       `json:"depth"`            // of the frame; the root's is 1
	Seq    int       `json:"seq"`              // the number of the frame's last step, over the whole run, from 1; 0 before the first
	Record int       `json:"record,omitempty"` // the record that brought it about; of deltas and the like, the one after which their effect was released
	Index  int       `json:"index,omitempty"`  // among the events of that record, from 1; 0: the Machine does not know of it, as of deltas
	Time   time.Time `json:"time"`             // when; a delta carries the time at which its step began
	Kind   EventKind `json:"kind"`
	Text   string    `json:"text,omitempty"`   // of deltas and progress
	Detail Detail    `json:"detail,omitempty"` // by kind; nil for deltas
}

// EventKind names what happened.
type EventKind string

// The kinds, each with its [Detail]. A run's events begin with RunStarted or RunResumed and end
// with RunFinished, which is the only terminal event.
const (
	EventRunStarted   EventKind = "run_started"   // RunStarted
	EventRunResumed   EventKind = "run_resumed"   // RunResumed: instead of RunStarted, when a run goes on
	EventFrameEntered EventKind = "frame_entered" // FrameEntered: a strategy begins
	EventStateChanged EventKind = "state_changed" // StateChanged: its FSM moved
	EventStepTaken    EventKind = "step_taken"    // StepTaken: a step was performed, and answered
	EventTextDelta    EventKind = "text_delta"    // Text: a piece of a model's reply
	EventThoughtDelta EventKind = "thought_delta" // Text: a piece of a model's thoughts
	EventCallDelta    EventKind = "call_delta"    // CallDelta, Text: a piece of the arguments of a tool call that a model writes
	EventToolStarted  EventKind = "tool_started"  // ToolStarted
	EventToolProgress EventKind = "tool_progress" // ToolProgress, Text: what the tool says
	EventToolFinished EventKind = "tool_finished" // ToolFinished; one for each call, started or not
	EventRetryWaiting EventKind = "retry_waiting" // RetryWaiting: a model's client waits, tries again or turns elsewhere
	EventWaitStarted  EventKind = "wait_started"  // WaitStarted: the run waits for somebody
	EventWaitEnded    EventKind = "wait_ended"    // WaitEnded: somebody has answered, or need not any more
	EventNoted        EventKind = "noted"         // Noting: somebody left a note with the run
	EventDrifted      EventKind = "drifted"       // Drifted: a run goes on, and its strategies or tools are not quite as they were
	EventFrameLeft    EventKind = "frame_left"    // FrameLeft: a strategy ended
	EventRunFinished  EventKind = "run_finished"  // RunFinished
)

// Detail is what an event of some kind tells besides: one of the structs of that name below, as a
// value.
type Detail interface{ isDetail() }

// RunStarted tells what was asked for.
type RunStarted struct {
	Strategy string            `json:"strategy"`
	Goal     string            `json:"goal,omitempty"`
	Limits   delegation.Limits `json:"limits"`             // of the run; negative: there is no limit
	Metadata map[string]string `json:"metadata,omitempty"` // of the task; read-only
}

// RunResumed tells where a run goes on: the event's Seq is that of its last step.
type RunResumed struct {
	Strategy string            `json:"strategy"` // of the root
	Goal     string            `json:"goal,omitempty"`
	Limits   delegation.Limits `json:"limits"`             // of the run from now on
	Left     delegation.Limits `json:"left,omitzero"`      // of the Limits
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

// FrameEntered tells what a strategy was started with. A child sees nothing of its parent but the
// messages that it was handed.
type FrameEntered struct {
	Strategy string `json:"strategy"`
	Goal     string `json:"goal,omitempty"`
	Messages int    `json:"messages,omitempty"` // how many it was handed
	Context  Share  `json:"context,omitempty"`  // what they are of its parent's; "" for the root
	CallID   string `json:"call_id,omitempty"`  // the tool call that it answers, of the first frame of a branch
	Tool     string `json:"tool,omitempty"`     // of that call

	Limits delegation.Limits `json:"limits,omitzero"` // what the strategy may use, with all that it starts: its own, within what is left of those above it
}

// Share says what a child was handed of its parent's conversation.
type Share string

// The shares.
const (
	ShareGoal   Share = "goal"   // nothing: it sees its goal
	ShareChosen Share = "chosen" // some messages
	ShareAll    Share = "all"    // as many as the conversation of the parent has
)

// StateChanged tells a move of a strategy's FSM.
type StateChanged struct {
	From strategy.State `json:"from,omitempty"`
	To   strategy.State `json:"to"`
}

// StepTaken tells of a step that was performed.
type StepTaken struct {
	Kind    nextstep.Kind     `json:"kind"`
	Model   string            `json:"model,omitempty"` // that answered, where one did
	Usage   messages.Usage    `json:"usage,omitzero"`  // of this step, hidden attempts included
	Cost    messages.Cost     `json:"cost,omitempty"`  // of this step, in millionths of a dollar
	Calls   int               `json:"calls,omitempty"` // tool calls: asked for by the model, or executed
	Elapsed time.Duration     `json:"elapsed,omitzero"`
	Err     *delegation.Error `json:"error,omitempty"` // the step could not be performed
	Left    delegation.Limits `json:"left,omitzero"`   // of the limits of the run, after this step; negative: there is no limit
}

// CallDelta tells which call of a reply the event's Text is a piece of. The reply is not there yet,
// and the call has no id.
type CallDelta struct {
	Index    int    `json:"index"`     // tells the calls of one reply apart; from 0
	ToolName string `json:"tool_name"` // as the model writes it
}

// ToolStarted tells of a call that begins to run.
type ToolStarted struct {
	Call messages.ToolCall `json:"call"`
}

// ToolProgress tells which call made progress; the event's Text says how.
type ToolProgress struct {
	CallID   string `json:"call_id"`
	ToolName string `json:"tool_name"`
}

// ToolFinished tells how a call ended.
type ToolFinished struct {
	Output messages.ToolOutput `json:"output"`
}

// RetryWaiting tells what a client's wrapper does.
type RetryWaiting struct {
	Kind    llmclient.NoticeKind `json:"kind"`
	Model   string               `json:"model,omitempty"`
	Attempt int                  `json:"attempt,omitempty"`
	Wait    time.Duration        `json:"wait,omitzero"`
	Error   string               `json:"error,omitempty"`
	Discard bool                 `json:"discard,omitempty"` // the deltas of this step so far are void
}

// WaitStarted tells that the run cannot go on before somebody answers.
type WaitStarted struct {
	Wait Wait `json:"wait"`
}

// WaitEnded tells that a wait is over.
type WaitEnded struct {
	WaitID string            `json:"wait_id"`
	Reply  *Reply            `json:"reply,omitempty"` // nil: there was no answer, and there is nothing to wait for any more
	Err    *delegation.Error `json:"error,omitempty"` // why there was none: the error of Config.Reply, or what ended the wait
}

// FrameLeft tells how a strategy ended. Usage, Cost and Elapsed are over its whole subtree.
type FrameLeft struct {
	Strategy string            `json:"strategy"`
	Result   *string           `json:"result,omitempty"`
	Usage    messages.Usage    `json:"usage,omitzero"`
	Cost     messages.Cost     `json:"cost,omitempty"`
	Elapsed  time.Duration     `json:"elapsed,omitzero"`
	Err      *delegation.Error `json:"error,omitempty"`
}

// RunFinished is how the run ended. Nothing comes after it.
type RunFinished struct {
	Status   Status            `json:"status"`
	Strategy string            `json:"strategy,omitempty"` // of the root
	Output   delegation.Output `json:"output"`
	Limits   delegation.Limits `json:"limits,omitzero"` // of the run; negative: there is no limit
	Left     delegation.Limits `json:"left,omitzero"`   // of the Limits, in the end
	Waits    []Wait            `json:"waits,omitempty"` // for StatusWaiting
}

// Noting tells a note.
type Noting struct {
	Text string `json:"text"`
}

// Drifted tells what is not as it was when the run was recorded. It is told once a frame.
type Drifted struct {
	What string `json:"what"`
}

func (RunStarted) isDetail()   {}
func (RunResumed) isDetail()   {}
func (FrameEntered) isDetail() {}
func (StateChanged) isDetail() {}
func (StepTaken) isDetail()    {}
func (CallDelta) isDetail()    {}
func (ToolStarted) isDetail()  {}
func (ToolProgress) isDetail() {}
func (ToolFinished) isDetail() {}
func (RetryWaiting) isDetail() {}
func (WaitStarted) isDetail()  {}
func (WaitEnded) isDetail()    {}
func (Noting) isDetail()       {}
func (Drifted) isDetail()      {}
func (FrameLeft) isDetail()    {}
func (RunFinished) isDetail()  {}

// Status says how a run ended.
type Status string

// The statuses. Only StatusDone is success.
const (
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
	StatusLimit   Status = "limit"   // a limit was reached
	StatusStopped Status = "stopped" // the caller or a deadline stopped it
	StatusWaiting Status = "waiting" // it waits for somebody
)
