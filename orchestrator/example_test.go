package orchestrator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A task runs to its end on a scripted model; with openaichat.New in its place, on a real one.
func Example() {
	model := scripted.New(
		scripted.Calls(scripted.Call("add", `{"A": 19.5, "B": 22.5}`, "")),
		scripted.Text("19.5 + 22.5 = 42"),
	)
	add := tools.New(tools.Definition{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, in struct{ A, B float64 }) (float64, error) { return in.A + in.B, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client:     model,
		Tools:      []tools.Tool{add},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{System: "Use the tools."})},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is 19.5 + 22.5?"}})
	fmt.Println(result.Status, result.Output.Text(), err)
	for _, tool := range result.Output.ToolMetas() {
		fmt.Println(tool.ToolName, tool.Output)
	}
	// Output:
	// done 19.5 + 22.5 = 42 <nil>
	// add 42
}

// The events of a run arrive as they happen; breaking out of the loop stops the run.
func ExampleOrchestrator_Stream() {
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Stream("Hel", "lo")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range o.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Say hello."}}) {
		if err != nil {
			log.Fatal(err)
		}
		switch detail := event.Detail.(type) {
		case machine.StateChanged:
			fmt.Println("state:", detail.To)
		case machine.RunFinished:
			fmt.Println("ended:", detail.Status)
		case nil:
			if event.Kind == machine.EventTextDelta { // thoughts are deltas too
				fmt.Printf("text: %q\n", event.Text)
			}
		default:
		}
	}
	// Output:
	// state: awaiting_model
	// text: "Hel"
	// text: "lo"
	// state: done
	// ended: done
}
