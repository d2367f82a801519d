package planreviseexecute_test

import (
	"context"
	"fmt"
	"log"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// A plan of two steps is approved, and each step is carried out in its own conversation.
func Example() {
	plan := `{"steps":[{"id":"a","goal":"Name a city."},{"id":"b","goal":"Say what it is known for.","depends_on":["a"]}]}`
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call(pre.SubmitPlan, plan, "")),
			scripted.Calls(scripted.Call(pre.SubmitEvaluation, `{"approved":true}`, "")),
			scripted.Text("Oslo"),
			scripted.Text("Oslo is known for its fjord."),
		),
		Strategies: strategy.Set{
			"plan":          pre.New(pre.Config{MaxSteps: 5}),
			"complete-task": completetask.New(completetask.Config{}),
		},
		Default: "plan",
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "Present a city."}})
	fmt.Println(result.Output.Text(), err)
	var made pre.Plan
	if _, err := result.Output.Metadata.Decode("plan", &made); err != nil {
		log.Fatal(err)
	}
	for _, step := range made.Steps {
		fmt.Println(step.ID, step.Status, step.Goal)
	}
	// Output:
	// Oslo is known for its fjord. <nil>
	// a done Name a city.
	// b done Say what it is known for.
}
