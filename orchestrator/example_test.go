package orchestrator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
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
	add := tools.NewPure(tools.Definition{Name: "add", Description: "Adds two numbers."},
		func(in struct{ A, B float64 }) (float64, error) { return in.A + in.B, nil })
	agent, err := orchestrator.New(orchestrator.Config{
		Client:     model,
		Tools:      []tools.Tool{add},
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{System: "Use the tools."})},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := agent.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "What is 19.5 + 22.5?"}})
	fmt.Println(result.Status, result.Output.Text(), err)
	for _, tool := range result.Output.ToolMetas() {
		fmt.Println(tool.ToolName, tool.Output)
	}
	// Output:
	// done 19.5 + 22.5 = 42 <nil>
	// add 42
}

// Any engine can drive a Machine: this one answers every request itself.
func ExampleMachine() {
	perform := func(step nextstep.NextStep) nextstep.Answer {
		switch step.(type) {
		case nextstep.GetChatCompletion:
			return nextstep.APIResponse{Response: &llmclient.Response{Message: messages.AssistantText("42"), Finish: llmclient.FinishStop}}
		default:
			return nextstep.Failure{Source: nextstep.SourceTool, Code: "failed", Message: "this engine only talks"}
		}
	}
	m, err := orchestrator.NewMachine(orchestrator.MachineConfig{
		Run:   "example",
		Set:   strategy.Set{"solve": completetask.New(completetask.Config{})},
		Root:  "solve",
		Input: delegation.Input{Goal: "What is the answer?"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for !m.Done() {
		if err := m.Step(perform(m.Pending())); err != nil {
			log.Fatal(err)
		}
		for _, e := range m.Events() {
			fmt.Println(e.Seq, e.Frame, e.Kind)
		}
	}
	fmt.Println(m.Output().Text())
	// Output:
	// 0 0 run_started
	// 0 0 frame_entered
	// 0 0 state_changed
	// 1 0 step_taken
	// 1 0 state_changed
	// 1 0 frame_left
	// 1 0 run_finished
	// 42
}

// The events of a run arrive as they happen; breaking out of the loop stops the run.
func ExampleOrchestrator_Stream() {
	agent, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Stream("Hel", "lo")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
	})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range agent.Stream(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Say hello."}}) {
		if err != nil {
			log.Fatal(err)
		}
		switch detail := event.Detail.(type) {
		case orchestrator.StateChanged:
			fmt.Println("state:", detail.To)
		case orchestrator.RunFinished:
			fmt.Println("ended:", detail.Status)
		case nil:
			fmt.Printf("text: %q\n", event.Text)
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
