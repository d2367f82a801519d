package orchestrator_test

import (
	"context"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// Another engine performs the effects of a run when, and where, it likes.
func ExampleOrchestrator_Begin() {
	add := tools.New(tools.Definition{Name: "add", NeedsApproval: true}, func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	})
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Calls(scripted.Call("add", `{"A":19,"B":23}`, "1")), scripted.Text("It is 42.")),
		Strategies: strategy.Set{"assistant": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{add},
		Store:      new(checkpoint.Memory),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	s, err := o.Begin(ctx, orchestrator.Task{Run: "run-1", Input: delegation.Input{Goal: "What is 19 + 23?"}})
	for err == nil && (s.Status == "" || s.Status == machine.StatusWaiting) {
		if s.Status == "" { // any process may do this, and all Effects at once
			fmt.Println(s.Effects[0].Kind)
			s, err = o.Step(ctx, s.Key, s.Effects[0].ID, s.Epoch, nil)
			continue
		}
		fmt.Println("may it", s.Waits[0].Tool, s.Waits[0].Arguments)
		s, err = o.Continue(ctx, s.Key, orchestrator.Continuation{Replies: []machine.Reply{{WaitID: s.Waits[0].ID, Approve: true}}})
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Status, s.Result.Output.Text())
	// Output:
	// model
	// may it add {"A":19,"B":23}
	// tool
	// model
	// done It is 42.
}
