package orchestrator

import (
	"cmp"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// FlatType names an event of a [Flat]. There are nine.
type FlatType string

// The types, each with the fields of a [FlatEvent] that it has besides.
const (
	FlatStart        FlatType = "agent_start"         // Strategy, MaxSteps: the run began
	FlatTurnStart    FlatType = "agent_turn_start"    // Step: the model is asked what to do next
	FlatReason       FlatType = "agent_reason"        // Step, Message: what it said
	FlatRequestInput FlatType = "agent_request_input" // Step, Question: the run waits for somebody
	FlatToolStart    FlatType = "agent_tool_start"    // Step, Tool, CallID
	FlatToolComplete FlatType = "agent_tool_complete" // Step, Tool, CallID, Result; one for each call, started or not
	FlatObserve      FlatType = "agent_observe"       // Step, Message: what the results showed; Message may be empty
	FlatCompletion   FlatType = "agent_completion"    // Steps, Answer: the run ended with an answer
	FlatError        FlatType = "agent_error"         // Message: the run ended without one
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

// UpdateType is the name under which a front end is told of the event: that of Type, except that
// calls of tools are "tool_start" and "tool_complete".
func (e FlatEvent) UpdateType() string {
	switch e.Type {
	case FlatToolStart, FlatToolComplete:
		return strings.TrimPrefix(string(e.Type), "agent_")
	default:
		return string(e.Type)
	}
}

// Flat turns the events of one run into those of a loop of turns (reason, act, observe), for front
// ends that know nine types of events and no tree of strategies:
//
//	flat := orchestrator.Flat{MaxSteps: 3}
//	for event, err := range o.Stream(ctx, task) {
//		for _, e := range flat.From(event) {
//			notify(e.UpdateType(), e)
//		}
//		…
//	}
//
// Of reason-act-observe a turn is one of its steps. Of other strategies a turn is a request to the
// model; its text is the reason, the calls of tools are what is done, and agent_observe, without a
// message, says that all calls have their results. Turns of strategies that were delegated to are
// counted with the others. An agent that is called as a tool is a tool here: of what it does
// inside, only questions are told.
//
// A run that waits ends with agent_request_input. Thoughts, progress of tools, retries and notes
// have no name here. The zero value is ready for one run. A run that is resumed goes on with the
// same Flat, or with a new one, which learns from RunResumed all but Turns and the fields of
// agent_start. A Flat is not safe for concurrent use.
type Flat struct {
	Strategy string // for agent_start; "" means the name of the run's strategy
	MaxSteps int    // for agent_start: the limit that the strategy was given

	// Turns is how many turns there have been. Where a run is resumed with another Flat, set it to
	// what it was, so that turns are counted on.
	Turns int

	open    bool            // the turn has begun, and its reply has not come
	message strings.Builder // what the model has said since then
	inner   map[string]bool // by frame: it is that of an agent, or below one
	loops   map[string]bool // by frame: its strategy is reason-act-observe
}

// The states by which turns are told, of complete-task and of reason-act-observe, and the tool by
// which the latter asks its user.
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

// From returns what the front end is told of an event: often nothing, at most two events. Events
// are to be given in the order of the run, each once.
func (f *Flat) From(e Event) []FlatEvent {
	if d, ok := e.Detail.(FrameEntered); ok {
		f.entered(e.Frame, d)
		return nil
	}
	switch d := e.Detail.(type) {
	case RunStarted:
		return []FlatEvent{{Type: FlatStart, Strategy: cmp.Or(f.Strategy, d.Strategy), MaxSteps: f.MaxSteps}}
	case RunResumed:
		f.resumed(d)
		return nil
	case WaitStarted:
		return []FlatEvent{{Type: FlatRequestInput, Step: f.Turns, Question: d.Wait.Text}}
	case RunFinished:
		return f.ended(d)
	}
	if f.inner[e.Frame] {
		return nil
	}
	switch d := e.Detail.(type) {
	case nil:
		return f.delta(e)
	case RetryWaiting:
		if d.Discard {
			f.message.Reset() // the reply begins anew
		}
	case StateChanged:
		return f.moved(e.Frame, d)
	case StepTaken:
		if !f.loops[e.Frame] {
			return f.taken(d)
		}
	case ToolStarted:
		if d.Call.Name != requestInputTool {
			return []FlatEvent{{Type: FlatToolStart, Step: f.Turns, Tool: d.Call.Name, CallID: d.Call.ID}}
		}
	case ToolFinished:
		if out := d.Output; out.ToolName != requestInputTool {
			return []FlatEvent{{Type: FlatToolComplete, Step: f.Turns, Tool: out.ToolName, CallID: out.CallID, Result: out.Output}}
		}
	default: // there is no name for it
	}
	return nil
}

// resumed notes of the frames that were entered before what it would have noted then.
func (f *Flat) resumed(d RunResumed) {
	f.inner, f.loops = nil, nil
	for _, o := range d.Open {
		f.entered(o.Frame, FrameEntered{CallID: o.CallID})
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

// entered notes which frames belong to agents.
func (f *Flat) entered(frame string, d FrameEntered) {
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

// delta keeps a piece of what the model says.
func (f *Flat) delta(e Event) []FlatEvent {
	if e.Kind != EventTextDelta {
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

// said returns an event with what the model has said, which is told once.
func (f *Flat) said(t FlatType) FlatEvent {
	text := f.message.String()
	f.message.Reset()
	return FlatEvent{Type: t, Step: f.Turns, Message: text}
}

// moved tells of turns by the states of a strategy.
func (f *Flat) moved(frame string, d StateChanged) (events []FlatEvent) {
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
	if d.To == stateFailed || d.From == stateReasoning && d.To == stateDeciding { // the run says it at its end; the turn goes on
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

// taken tells of turns by the steps of a strategy.
func (f *Flat) taken(d StepTaken) []FlatEvent {
	switch d.Kind {
	case nextstep.KindGetChatCompletion:
		events := f.begin()
		f.open = false
		if d.Err == nil { // else the run says it at its end, or the model is asked again
			events = append(events, f.said(FlatReason))
		}
		return events
	case nextstep.KindExecuteTools:
		if d.Err == nil {
			return []FlatEvent{{Type: FlatObserve, Step: f.Turns}}
		}
	default: // what a child did has been told
	}
	return nil
}

// ended tells how the run ended. An answer counts, also one that came at a limit.
func (f *Flat) ended(d RunFinished) []FlatEvent {
	switch {
	case d.Status == StatusDone, d.Status == StatusLimit && d.Output.Result != nil:
		return []FlatEvent{{Type: FlatCompletion, Steps: f.Turns, Answer: d.Output.Text()}}
	case d.Status == StatusWaiting: // agent_request_input has said so
		return nil
	default:
		err := d.Output.Err
		if err == nil {
			err = &delegation.Error{Message: string(d.Status)}
		}
		return []FlatEvent{{Type: FlatError, Message: err.Message}}
	}
}
