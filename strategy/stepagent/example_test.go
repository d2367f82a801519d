package stepagent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/stepagent"
)

// exampleAgent is an agent of two steps: the first asks a model and uses its reply, the second
// finishes. Each run has its own count.
func exampleAgent(name string) stepagent.Config {
	type memory struct{ steps int }
	return stepagent.Config{
		NewState: func() any { return new(memory) },
		Step: func(step stepagent.Step) stepagent.StepResult {
			mine := step.State.(*memory)
			mine.steps++
			n := mine.steps
			step.Note(fmt.Sprintf("Custom step %d by %s", n, name))
			if n >= 2 {
				return stepagent.Finish(fmt.Sprintf("Custom agent %s completed after %d steps", name, n))
			}
			return stepagent.Ask(llmclient.Request{}, func(resp llmclient.Response) stepagent.StepResult {
				return stepagent.Continue(messages.AssistantText(fmt.Sprintf("Step %d: %s", n, resp.Message.Text())))
			})
		},
	}
}

// S3-1: a custom agent, reported step by step.
func Example() {
	model := scripted.New(scripted.Text("Let me think."))
	o, err := orchestrator.New(orchestrator.Config{
		Client:     model,
		Strategies: strategy.Set{"example": stepagent.New(exampleAgent("example"))},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Show what a step is."}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Output.Text())
	for _, text := range result.Output.Texts() {
		fmt.Println("-", text)
	}
	var notes []stepagent.Note
	if _, err := result.Output.Metadata.Decode("notes", &notes); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(model.Requests()), "model call, notes:", notes)
	// Output:
	// Custom agent example completed after 2 steps
	// - Step 1: Let me think.
	// - Custom agent example completed after 2 steps
	// 1 model call, notes: [{1 Custom step 1 by example} {2 Custom step 2 by example}]
}

// A step that asks with all tools and runs what the model calls is the usual agent loop, but can be
// changed.
func ExampleAsk() {
	loop := func(step stepagent.Step) stepagent.StepResult {
		return stepagent.Ask(llmclient.Request{Tools: step.Tools}, func(resp llmclient.Response) stepagent.StepResult {
			if calls := resp.Message.Calls(); len(calls) > 0 {
				return stepagent.ToolCalls(calls...)
			}
			return stepagent.Finish(resp.Message.Text())
		})
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("final", `{"answer":"42"}`, "")),
		),
		Strategies: strategy.Set{"loop": stepagent.New(stepagent.Config{Step: loop, FinalTool: "final"})},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "6 times 7?"}})
	fmt.Println(result.Output.Text(), err)
	// Output: 42 <nil>
}
