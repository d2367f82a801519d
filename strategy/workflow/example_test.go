package workflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/tools"
)

// A plan is carried out and reviewed, until it is good.
func Example() {
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Text("Sleep, then arrive."), scripted.Text("You sleep and arive."),
			scripted.Text("One word is misspelt."), scripted.Text("You sleep and arrive."), scripted.Text("APPROVED"),
		),
		Strategies: strategy.Set{
			"page": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Strategy: "planner"}, {Strategy: "reviewed"}}}),
			"reviewed": workflow.Loop(workflow.LoopConfig{
				Part:      workflow.Part{Strategy: "executor", Retries: 1},
				Judge:     &workflow.Part{Strategy: "reviewer", Limits: delegation.Limits{ModelCalls: 5}},
				MaxRounds: 3,
			}),
			"planner":  completetask.New(completetask.Config{System: "Make a plan. Do not carry it out."}),
			"executor": completetask.New(completetask.Config{System: "Carry out the plan.", MaxModelCalls: 5}),
			"reviewer": completetask.New(completetask.Config{System: "You look for mistakes."}),
		},
		Default: "page",
	})
	if err != nil {
		log.Fatal(err)
	}
	task := orchestrator.Task{Input: delegation.Input{Goal: "A line on night trains."}}
	b, err := o.Bound(task, bound.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("at most", b.ModelCalls.Most, "model calls")
	result, err := o.Run(context.Background(), task)
	fmt.Println(result.Output.Text(), err)
	// Output:
	// at most 100 model calls
	// You sleep and arrive. <nil>
}

// run runs the strategy "main" of a set, and prints the answer.
func run(set strategy.Set, goal string, model llmclient.Client, tools ...tools.Tool) {
	o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: set, Tools: tools, Default: "main"})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: goal}})
	fmt.Println(result.Output.Text(), err)
}

// agent is a model with a system prompt.
func agent(system string) func() strategy.Strategy {
	return completetask.New(completetask.Config{System: system})
}

// Prompt chaining: each part works on what the last one wrote.
func ExampleSequence() {
	run(strategy.Set{
		"main": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{
			{Strategy: "outline"}, {Strategy: "write", Retries: 1}, {Strategy: "translate", Prompt: "Translate this into Norwegian:\n{{.Last}}"},
		}}),
		"outline": agent("Make an outline."), "write": agent("Write the text of the outline."), "translate": agent("You translate."),
	}, "Greet the world.", scripted.New(scripted.Text("1. hello 2. world"), scripted.Text("Hello, world."), scripted.Text("Hei, verden.")))
	// Output: Hei, verden. <nil>
}

// Routing: a model says who does the task.
func ExampleChoose() {
	run(strategy.Set{
		"main": workflow.Choose(workflow.ChooseConfig{
			Parts: []workflow.Part{
				{Strategy: "refunds", Description: "money that a customer wants back"},
				{Strategy: "technical", Description: "what does not work"},
			},
			Router: &workflow.Part{Strategy: "router", Retries: 1}, Otherwise: "technical",
		}),
		"router": agent(""), "refunds": agent("You refund."), "technical": agent("You repair."),
	}, "I want my money back.", scripted.New(scripted.Text("refunds"), scripted.Text("It is on its way.")))
	// Output: It is on its way. <nil>
}

// Parallelization: parts work at the same time, and one makes an answer of theirs.
func ExampleParallel() {
	run(strategy.Set{
		"main": workflow.Parallel(workflow.ParallelConfig{
			Parts: []workflow.Part{
				{Name: "pro", Strategy: "lawyer", Prompt: "Argue for it: {{.Goal}}"},
				{Name: "contra", Strategy: "lawyer", Prompt: "Argue against it: {{.Goal}}", OnFailure: workflow.FailureContinue},
			},
			Reduce: &workflow.Part{Strategy: "judge", Limits: delegation.Limits{ModelCalls: 2}},
		}),
		"lawyer": agent("You argue."), "judge": agent("You decide."),
	}, "Tea before coffee.", scripted.New(
		scripted.Reply{For: "Argue for it: Tea before coffee.", Deltas: []string{"Tea is older."}},
		scripted.Reply{For: "Argue against it: Tea before coffee.", Deltas: []string{"Coffee is stronger."}},
		scripted.Text("Tea first."),
	))
	// Output: Tea first. <nil>
}

// Orchestrator and workers: a model gives out parts of the task, as many as it likes, and another
// part of the composition puts them together.
func ExampleSequence_orchestratorWorkers() {
	worker := orchestrator.AgentTool(orchestrator.Agent{
		Definition: tools.Definition{Name: "work", Description: "Works on parts of the task, all at the same time."}, Strategy: "worker", FanOut: true,
	})
	run(strategy.Set{
		"main":   workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Strategy: "orchestrator", Tools: []string{"work"}}, {Strategy: "editor", Tools: []string{}}}}),
		"worker": completetask.New(completetask.Config{Tools: []string{}}), "orchestrator": agent("Give the parts of the task to workers."), "editor": agent("Make one text of it."),
	}, "Name a city in the north and one in the south.", scripted.New(
		scripted.Calls(scripted.Call("work", `{"goals":["north","south"]}`, "c1")),
		scripted.Reply{For: "north", Deltas: []string{"Tromsø"}}, scripted.Reply{For: "south", Deltas: []string{"Rome"}},
		scripted.Text("Tromsø, Rome"), scripted.Text("Tromsø and Rome"),
	), worker)
	// Output: Tromsø and Rome <nil>
}

// Evaluator and optimizer: a judge sends the text back until it is good.
func ExampleLoop() {
	run(strategy.Set{
		"main":   workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "writer"}, Judge: &workflow.Part{Strategy: "critic"}, MaxRounds: 4}),
		"writer": agent("You write."), "critic": agent("You judge."),
	}, "A rhyme on tea.", scripted.New(
		scripted.Text("Tea is hot."), scripted.Text("It does not rhyme."), scripted.Text("Tea for me."), scripted.Text("APPROVED"),
	))
	// Output: Tea for me. <nil>
}
