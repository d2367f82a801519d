package orchestrator_test

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

// One call of a tool makes three runs of an agent at the same time. Their results come in the order
// of the goals, and what they have used counts as the parent's.
func ExampleAgentTool() {
	research := orchestrator.AgentTool(orchestrator.Agent{
		Definition: tools.Definition{Name: "research", Description: "Finds something out."},
		Strategy:   "researcher",
		FanOut:     true,
	})
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("research", `{"goals":["a red one","a green one","a blue one"]}`, "")),
			scripted.Reply{For: "a red one", Text: "rose"},
			scripted.Reply{For: "a green one", Text: "fern"},
			scripted.Reply{For: "a blue one", Text: "iris"},
			scripted.Text("A rose, a fern and an iris."),
		),
		Strategies: strategy.Set{
			"lead":       completetask.New(completetask.Config{}),
			"researcher": completetask.New(completetask.Config{Tools: []string{}}),
		},
		Default: "lead",
		Tools:   []tools.Tool{research},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Name plants."}})
	fmt.Println(result.Output.Text(), err)
	fmt.Println(result.Output.ToolMetas()[0].Output)
	// Output:
	// A rose, a fern and an iris. <nil>
	// ["rose","fern","iris"]
}
