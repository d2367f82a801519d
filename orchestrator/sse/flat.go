package sse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// FlatType is the type of a [FlatEvent]. There are nine.
type FlatType string

// The types. Each lists the fields of [FlatEvent] that it sets.
const (
	FlatStart        FlatType = "agent_start"         // Strategy, MaxSteps: the run began
	FlatTurnStart    FlatType = "agent_turn_start"    // Step: a turn begins
	FlatReason       FlatType = "agent_reason"        // Step, Message: the text of the model
	FlatRequestInput FlatType = "agent_request_input" // Step, Question: the run waits for a person
	FlatToolStart    FlatType = "agent_tool_start"    // Step, Tool, CallID
	FlatToolComplete FlatType = "agent_tool_complete" // Step, Tool, CallID, Result; one for each call, started or not
	FlatObserve      FlatType = "agent_observe"       // Step, Message: the observation of the results; Message may be empty
	FlatCompletion   FlatType = "agent_completion"    // Steps, Answer: the run ended with an answer
	FlatError        FlatType = "agent_error"         // Message: the run ended without an answer
)

// FlatEvent is an event of a loop of turns. Fields that its type does not have are empty.
type FlatEvent struct {
	Type     FlatType `json:"type"`
	Step     int      `json:"step,omitempty"` // the number of the turn, from 1; it never decreases
	Strategy string   `json:"strategy,omitempty"`
	MaxSteps int      `json:"max_steps,omitempty"`
	Message  string   `json:"message,omitempty"`
	Question string   `json:"question,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	CallID   string   `json:"call_id,omitempty"`
	Result   string   `json:"result,omitempty"`
	Steps    int      `json:"steps,omitempty"` // how many turns there were
	Answer   string   `json:"answer,omitempty"`
}

// UpdateType returns the name of the event for front ends: the Type, except that tool calls are
// "tool_start" and "tool_complete".
func (e FlatEvent) UpdateType() string {
	switch e.Type {
	case FlatToolStart, FlatToolComplete:
		return strings.TrimPrefix(string(e.Type), "agent_")
	default:
		return string(e.Type)
	}
}

// Flat converts the events of a run to the nine events of a loop of turns (reason, act, observe),
// for front ends that do not know a tree of strategies:
//
//	flat := sse.Flat{MaxSteps: 3}
//	for event, err := range o.Stream(ctx, task) {
//		for _, e := range flat.From(event) {
//			notify(e.UpdateType(), e)
//		}
//		…
//	}
//
// With reason-act-observe, a turn is one step of the strategy. With other strategies, a turn is a
// request to the model: the reply's text is the reason, the tool calls are the acts, and
// agent_observe, without a message, says that all calls have their results. Turns of delegated
// strategies are counted too. An agent that is called as a tool looks like any other tool: of its
// inner events, only questions are converted.
//
// A run that waits ends with agent_request_input. Thoughts, progress of tools, retries and notes
// are dropped. The zero value is ready to use for one run. A resumed run continues with the same
// Flat, or with a new one, which learns from RunResumed everything except Turns and the fields of
// agent_start. A Flat is not safe for concurrent use.
type Flat struct {
	Strategy string // for agent_start; "" means the name of the run's strategy
	MaxSteps int    // for agent_start: the limit that the strategy was given

	// Turns is the number of turns so far. If a run is resumed with another Flat, set it to the
	// earlier value to continue the count.
	Turns int

	open    bool            // the turn has begun, and its reply has not arrived
	message strings.Builder // the model's text since then
	inner   map[string]bool // by frame: the frame belongs to an agent
	loops   map[string]bool // by frame: its strategy is reason-act-observe
}

// The states of complete-task and reason-act-observe that mark turns, and the tool with which the
// latter asks its user.
const (
	stateAwaitingModel = "awaiting_model"
	stateConcluding    = "concluding"
	stateReasoning     = "reasoning"
	stateDeciding      = "deciding"
	stateExecuting     = "executing"
	stateObserving     = "observing"
	stateFailed        = "failed"

	requestInputTool = "agent_request_input"
)

// loopStates are those by which a frame that is resumed shows that its strategy is
// reason-act-observe. Another may have the state executing, but goes on to others than
// afterExecuting.
var (
	loopStates     = []strategy.State{stateReasoning, stateDeciding, "asking_user", "retrieving", "acting", stateExecuting, stateObserving, "answering"}
	afterExecuting = []strategy.State{stateObserving, stateFailed}
)

// From converts an event of the run to zero, one or two events. Pass each event once, in order.
func (f *Flat) From(e machine.Event) []FlatEvent {
	if d, ok := e.Detail.(machine.FrameEntered); ok {
		f.entered(e.Frame, d)
		return nil
	}
	switch d := e.Detail.(type) {
	case machine.RunStarted:
		return []FlatEvent{{Type: FlatStart, Strategy: cmp.Or(f.Strategy, d.Strategy), MaxSteps: f.MaxSteps}}
	case machine.RunResumed:
		f.resumed(d)
		return nil
	case machine.WaitStarted:
		return []FlatEvent{{Type: FlatRequestInput, Step: f.Turns, Question: d.Wait.Text}}
	case machine.RunFinished:
		return f.ended(d)
	}
	if f.inner[e.Frame] {
		return nil
	}
	switch d := e.Detail.(type) {
	case nil:
		return f.delta(e)
	case machine.RetryWaiting:
		if d.Discard {
			f.message.Reset() // the reply starts again
		}
	case machine.StateChanged:
		return f.moved(e.Frame, d)
	case machine.StepTaken:
		if !f.loops[e.Frame] {
			return f.taken(d)
		}
	case machine.ToolStarted:
		if d.Call.Name != requestInputTool {
			return []FlatEvent{{Type: FlatToolStart, Step: f.Turns, Tool: d.Call.Name, CallID: d.Call.ID}}
		}
	case machine.ToolFinished:
		if out := d.Output; out.ToolName != requestInputTool {
			return []FlatEvent{{Type: FlatToolComplete, Step: f.Turns, Tool: out.ToolName, CallID: out.CallID, Result: out.Output}}
		}
	default: // dropped
	}
	return nil
}

// resumed notes of the frames that were entered before what it would have noted then.
func (f *Flat) resumed(d machine.RunResumed) {
	f.inner, f.loops = nil, nil
	for _, o := range d.Open {
		f.entered(o.Frame, machine.FrameEntered{CallID: o.CallID})
		if f.inner[o.Frame] {
			continue
		}
		switch {
		case slices.Contains(loopStates, o.State):
			f.loop(o.Frame)
		case o.State == stateAwaitingModel, o.State == stateConcluding:
			f.open = f.Turns > 0 // it was told before
		}
	}
}

// loop notes that the strategy of a frame is reason-act-observe.
func (f *Flat) loop(frame string) {
	if f.loops == nil {
		f.loops = map[string]bool{}
	}
	f.loops[frame] = true
}

// entered records which frames belong to agents.
func (f *Flat) entered(frame string, d machine.FrameEntered) {
	up := ""
	if at := strings.LastIndexByte(frame, '.'); at >= 0 {
		up = frame[:at]
	}
	if d.CallID != "" || f.inner[up] {
		if f.inner == nil {
			f.inner = map[string]bool{}
		}
		f.inner[frame] = true
	}
}

// delta stores a piece of the model's text.
func (f *Flat) delta(e machine.Event) []FlatEvent {
	if e.Kind != machine.EventTextDelta {
		return nil
	}
	f.message.WriteString(e.Text)
	return nil
}

// begin begins a turn, unless one has begun.
func (f *Flat) begin() []FlatEvent {
	if f.open {
		return nil
	}
	f.open = true
	f.Turns++
	return []FlatEvent{{Type: FlatTurnStart, Step: f.Turns}}
}

// said returns an event with the model's text since the last one.
func (f *Flat) said(t FlatType) FlatEvent {
	text := f.message.String()
	f.message.Reset()
	return FlatEvent{Type: t, Step: f.Turns, Message: text}
}

// moved converts a state change of a strategy.
func (f *Flat) moved(frame string, d machine.StateChanged) (events []FlatEvent) {
	if d.From == d.To { // it asks again, in the same turn
		return nil
	}
	if d.To == stateReasoning {
		f.loop(frame)
	}
	if d.From == stateExecuting && f.loops[frame] && !slices.Contains(afterExecuting, d.To) { // it was another strategy that was resumed
		delete(f.loops, frame)
		events = append(events, FlatEvent{Type: FlatObserve, Step: f.Turns})
	}
	if !f.loops[frame] {
		if d.To == stateAwaitingModel || d.To == stateConcluding {
			f.message.Reset()
			events = append(events, f.begin()...)
		}
		return events
	}
	if d.To == stateFailed || d.From == stateReasoning && d.To == stateDeciding { // the end of the run reports the failure; the turn continues
		return nil
	}
	switch d.From {
	case stateReasoning, stateDeciding:
		events, f.open = append(events, f.said(FlatReason)), false
	case stateObserving:
		events = append(events, f.said(FlatObserve))
	}
	f.message.Reset()
	if d.To == stateReasoning {
		events = append(events, f.begin()...)
	}
	return events
}

// taken converts a step of a strategy.
func (f *Flat) taken(d machine.StepTaken) []FlatEvent {
	switch d.Kind {
	case nextstep.KindGetChatCompletion:
		events := f.begin()
		f.open = false
		if d.Err == nil { // otherwise the end of the run reports it, or the model is asked again
			events = append(events, f.said(FlatReason))
		}
		return events
	case nextstep.KindExecuteTools:
		if d.Err == nil {
			return []FlatEvent{{Type: FlatObserve, Step: f.Turns}}
		}
	default: // the events of a child were converted already
	}
	return nil
}

// ended converts the end of the run. An answer is a completion, even if it came at a limit.
func (f *Flat) ended(d machine.RunFinished) []FlatEvent {
	switch {
	case d.Status == machine.StatusDone, d.Status == machine.StatusLimit && d.Output.Result != nil:
		return []FlatEvent{{Type: FlatCompletion, Steps: f.Turns, Answer: d.Output.Text()}}
	case d.Status == machine.StatusWaiting: // agent_request_input has reported it
		return nil
	default:
		err := d.Output.Err
		if err == nil {
			err = &delegation.Error{Message: string(d.Status)}
		}
		return []FlatEvent{{Type: FlatError, Message: err.Message}}
	}
}
