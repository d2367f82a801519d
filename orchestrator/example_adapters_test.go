package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// runStream tells a run to a consumer that knows a flat stream: RunStart, TextDelta, ToolStart,
// ToolOutput, ToolEnd, and one of RunEnd and RunError. What it has no name for is "".
func runStream(e machine.Event) string {
	switch d := e.Detail.(type) {
	case machine.RunStarted, machine.RunResumed:
		return "RunStart"
	case machine.ToolStarted:
		return "ToolStart " + d.Call.Name
	case machine.ToolProgress:
		return "ToolOutput " + d.ToolName + " " + e.Text
	case machine.ToolFinished:
		return "ToolEnd " + d.Output.ToolName
	case machine.RunFinished:
		switch d.Status {
		case machine.StatusDone, machine.StatusWaiting:
			return "RunEnd"
		case machine.StatusStopped:
			return "RunEnd aborted"
		default:
			return "RunError " + d.Output.Err.Message
		}
	}
	if e.Kind == machine.EventTextDelta {
		return "TextDelta " + e.Text
	}
	return ""
}

// sequentialAgent runs complete-task on a scripted model, with tools that run one after another.
func sequentialAgent(replies ...scripted.Reply) *orchestrator.Orchestrator {
	var list []tools.Tool
	for _, name := range []string{"one", "two"} {
		list = append(list, tools.NewRaw(tools.Definition{Name: name, Sequential: true}, func(_ context.Context, arguments string) (string, error) {
			return name + arguments, nil
		}))
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(replies...),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools:      append(list, tools.AskUser()),
	})
	if err != nil {
		log.Fatal(err)
	}
	return o
}

// The events under the names of a flat stream.
func Example_runStream() {
	first := scripted.Stream("A", "b")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1"), scripted.Call("two", "{}", "2")}
	o := sequentialAgent(first, scripted.Stream("c"))
	for event := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Do both."}}) {
		if line := runStream(event); line != "" {
			fmt.Println(line)
		}
	}
	// Output:
	// RunStart
	// TextDelta A
	// TextDelta b
	// ToolStart one
	// ToolEnd one
	// ToolStart two
	// ToolEnd two
	// TextDelta c
	// RunEnd
}

// The events under the names of an agent loop with turns.
func ExampleFlat() {
	first := scripted.Stream("I must ", "look.")
	first.Calls = []messages.ToolCall{scripted.Call("one", "{}", "1")}
	o := sequentialAgent(first, scripted.Text("Done!"))
	flat := orchestrator.Flat{Strategy: "react", MaxSteps: 3}
	for event := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Do it."}}) {
		for _, e := range flat.From(event) {
			payload, err := json.Marshal(e)
			fmt.Println(e.UpdateType(), string(payload), err)
		}
	}
	// Output:
	// agent_start {"type":"agent_start","strategy":"react","max_steps":3} <nil>
	// agent_turn_start {"type":"agent_turn_start","step":1} <nil>
	// agent_reason {"type":"agent_reason","step":1,"message":"I must look."} <nil>
	// tool_start {"type":"agent_tool_start","step":1,"tool":"one","call_id":"1"} <nil>
	// tool_complete {"type":"agent_tool_complete","step":1,"tool":"one","call_id":"1","result":"one{}"} <nil>
	// agent_observe {"type":"agent_observe","step":1} <nil>
	// agent_turn_start {"type":"agent_turn_start","step":2} <nil>
	// agent_reason {"type":"agent_reason","step":2,"message":"Done!"} <nil>
	// agent_completion {"type":"agent_completion","steps":2,"answer":"Done!"} <nil>
}
