package orchestrator_test

import (
	"context"
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
