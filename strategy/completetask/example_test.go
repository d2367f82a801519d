package completetask_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// The model calls a tool, receives the result, and answers.
func Example() {
	add := tools.New(tools.Definition{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("add", `{"A":19,"B":23}`, "")),
			scripted.Text("It is 42."),
		),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{System: "Use the tools."})},
		Tools:      []tools.Tool{add},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is 19 + 23?"}})
	fmt.Println(result.Output.Text(), err)
	fmt.Printf("%s model calls\n", result.Output.Metadata["model_calls"])
	// Output:
	// It is 42. <nil>
	// 2 model calls
}
