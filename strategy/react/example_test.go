package react_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/tools"
)

// The model writes which tool it wants, and reads the observation as text.
func Example() {
	weather := tools.NewPure(tools.Definition{Name: "get_weather", Description: "Tells the weather of a city."},
		func(in struct{ City string }) (string, error) { return "sunny in " + in.City, nil })
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Text("Thought: I need to look.\nAction: get_weather\nAction Input: {\"City\": \"London\"}"),
			scripted.Text("Thought: I know it.\nFinal Answer: Leave the umbrella."),
		),
		Strategies: strategy.Set{"think": react.New(react.Config{})},
		Tools:      []tools.Tool{weather},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Do I need an umbrella in London?"}})
	fmt.Println(result.Output.Text(), err)
	fmt.Printf("%s steps: %s\n", result.Output.Metadata["steps"], result.Output.ToolMetas()[0].Output)
	// Output:
	// Leave the umbrella. <nil>
	// 2 steps: sunny in London
}
