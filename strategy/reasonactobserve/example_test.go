package reasonactobserve_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/tools"
)

// agentEvent is an event of an agent loop as a chat front end knows it: one of nine types, and what it carries.
type agentEvent struct {
	Type    string
	Payload map[string]any
}

// agentEvents turns the events of one run into those of the front end. The zero value, with the limit, is for one run.
type agentEvents struct {
	maxSteps int
	step     int
	message  strings.Builder // of this turn
}

// from returns what the front end is told of an event: nothing, one event, or two.
func (a *agentEvents) from(e orchestrator.Event) []agentEvent {
	switch d := e.Detail.(type) {
	case nil:
		if e.Kind == orchestrator.EventTextDelta {
			a.message.WriteString(e.Text)
		}
	case orchestrator.RunStarted:
		return []agentEvent{{"agent_start", map[string]any{"max_steps": a.maxSteps, "strategy": "react"}}}
	case orchestrator.RetryWaiting:
		if d.Discard {
			a.message.Reset() // the reply begins anew
		}
	case orchestrator.StateChanged:
		return a.moved(d)
	case orchestrator.WaitStarted:
		return []agentEvent{{"agent_request_input", map[string]any{"question": d.Wait.Text, "step": a.step}}}
	case orchestrator.ToolStarted:
		if d.Call.Name != rao.RequestInput {
			return []agentEvent{{"tool_start", map[string]any{"tool": d.Call.Name}}}
		}
	case orchestrator.ToolFinished:
		if d.Output.ToolName != rao.RequestInput {
			return []agentEvent{{"tool_complete", map[string]any{"tool": d.Output.ToolName, "result": d.Output.Output}}}
		}
	case orchestrator.RunFinished:
		return a.ended(d)
	default: // the front end has no name for it
	}
	return nil
}

// moved tells of the turns: one ends when the state that waits for its reply is left.
func (a *agentEvents) moved(d orchestrator.StateChanged) (events []agentEvent) {
	if d.To == rao.Failed {
		return nil // the run says so at its end
	}
	said := map[string]any{"message": a.message.String(), "step": a.step}
	switch {
	case d.From == rao.Reasoning && d.To == rao.Deciding: // the turn goes on
		return nil
	case d.From == rao.Reasoning, d.From == rao.Deciding:
		events = append(events, agentEvent{"agent_reason", said})
	case d.From == rao.Observing:
		events = append(events, agentEvent{"agent_observe", said})
	}
	if d.To == rao.Reasoning {
		a.step++
		events = append(events, agentEvent{"agent_turn_start", map[string]any{"step": a.step}})
	}
	a.message.Reset()
	return events
}

// ended tells how the run ended. An answer counts, also one that was given for want of steps; a run that waits has said so.
func (a *agentEvents) ended(d orchestrator.RunFinished) []agentEvent {
	switch {
	case d.Status == orchestrator.StatusDone, d.Status == orchestrator.StatusLimit && d.Output.Result != nil:
		return []agentEvent{{"agent_completion", map[string]any{"steps": a.step}}}
	case d.Status == orchestrator.StatusWaiting:
		return nil
	default:
		return []agentEvent{{"agent_error", map[string]any{"message": d.Output.Err.Message}}}
	}
}

// S4-14, S4-27: the events of a run under the nine names of a chat front end: a tool is called in the first step, and the
// second finishes.
func Example() {
	look := tools.New(tools.Definition{Name: "look", Description: "Looks at a file.", ReadOnly: true},
		func(_ context.Context, in struct{ Path string }) (string, error) { return in.Path + " holds 42", nil })
	first := scripted.Text("I must look.")
	first.Calls = append(first.Calls, scripted.Call(rao.DecideNext, `{"plan":"look at notes.txt"}`, ""))
	seen := scripted.Text("There is a number.")
	seen.Calls = append(seen.Calls, scripted.Call(rao.ObserveDecide, `{"should_continue":true}`, ""))
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			first,
			scripted.Calls(scripted.Call("look", `{"Path":"notes.txt"}`, "")),
			seen,
			scripted.Calls(scripted.Call(rao.DecideNext, `{"finish":true,"final_answer":"It is 42."}`, "")),
		),
		Strategies: strategy.Set{rao.Name: rao.New(rao.Config{MaxSteps: 3})},
		Tools:      []tools.Tool{look},
	})
	if err != nil {
		log.Fatal(err)
	}
	adapter := agentEvents{maxSteps: 3}
	for e := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Which number is in notes.txt?"}}) {
		for _, told := range adapter.from(e) {
			fmt.Println(told.Type, told.Payload)
		}
		if end, ok := e.Detail.(orchestrator.RunFinished); ok {
			fmt.Println(end.Output.Text())
		}
	}
	// Output:
	// agent_start map[max_steps:3 strategy:react]
	// agent_turn_start map[step:1]
	// agent_reason map[message:I must look. step:1]
	// tool_start map[tool:look]
	// tool_complete map[result:notes.txt holds 42 tool:look]
	// agent_observe map[message:There is a number. step:1]
	// agent_turn_start map[step:2]
	// agent_reason map[message: step:2]
	// agent_completion map[steps:2]
	// It is 42.
}

// One step: the model decides, calls a tool, and says what that showed.
func ExampleNew() {
	look := tools.NewPure(tools.Definition{Name: "look", Description: "Looks at a file."},
		func(in struct{ Path string }) (string, error) { return in.Path + " holds 42", nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call(rao.DecideNext, `{"plan":"Look at notes.txt.","finish":false}`, "")),
			scripted.Calls(scripted.Call("look", `{"Path":"notes.txt"}`, "")),
			scripted.Calls(scripted.Call(rao.ObserveDecide, `{"observation":"42","should_continue":false,"final_answer":"It is 42."}`, "")),
		),
		Strategies: strategy.Set{"work": rao.New(rao.Config{MaxSteps: 3})},
		Tools:      []tools.Tool{look},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Which number is in notes.txt?"}})
	fmt.Println(result.Output.Text(), err)
	fmt.Printf("%s step, tools %s\n", result.Output.Metadata["steps"], result.Output.Metadata["tools"])
	// Output:
	// It is 42. <nil>
	// 1 step, tools ["look"]
}
