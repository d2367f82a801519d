// Package patterns has the programs of docs/patterns.md and docs/coming-from.md, on a scripted
// model.
package patterns

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/tools"
)

// refund is a tool whose calls need a person's approval.
var refund = tools.New(tools.Definition{Name: "refund", Description: "Pays an order back.", NeedsApproval: true},
	func(_ context.Context, in struct{ Order int }) (string, error) {
		return fmt.Sprint("paid back ", in.Order), nil
	})

// release returns what each process of a release works with.
func release(version string, model llmclient.Client, store checkpoint.Store) *orchestrator.Orchestrator {
	o, err := orchestrator.New(orchestrator.Config{
		Client:     model,
		Strategies: strategy.Set{"support": completetask.New(completetask.Config{})},
		Tools:      []tools.Tool{refund},
		Store:      store,   // on disk, shared by all processes of both releases
		Version:    version, // a run that a release cannot continue is parked for another one
		Snapshots:  true,    // a later release may carry a waiting run over a change of code
	})
	if err != nil {
		log.Fatal(err)
	}
	return o
}

func Example_longWait() {
	ctx, store := context.Background(), new(checkpoint.Memory)
	monday := release("v1", scripted.New(scripted.Calls(scripted.Call("refund", `{"Order":7}`, "c1"))), store)
	friday := release("v2", scripted.New(scripted.Text("The money is on its way.")), store)

	result, err := monday.Run(ctx, orchestrator.Task{Run: "r1", Input: delegation.Input{Goal: "Refund order 7."}})
	fmt.Println(result.Status, err, result.Waits[0].Text, result.Waits[0].Arguments)

	// On Friday, in a process of the next release.
	reply := machine.Reply{WaitID: result.Waits[0].ID, Approve: true}
	result, err = orchestrator.Collect(friday.Resume(ctx, orchestrator.Resumption{Run: "r1", Replies: []machine.Reply{reply}}))
	fmt.Println(result.Status, err, result.Output.Text())
	// Output:
	// waiting <nil> May refund be called? {"Order":7}
	// done <nil> The money is on its way.
}

func Example_budget() {
	ctx := context.Background()
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Calls(scripted.Call("look", `{"Day":"Monday"}`, "c1")),
			scripted.Calls(scripted.Call("look", `{"Day":"Tuesday"}`, "c2")),
		),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{OnLimit: completetask.LimitFail})},
		Tools: []tools.Tool{tools.New(tools.Definition{Name: "look", Description: "Tells the trains of a day.", ReadOnly: true},
			func(_ context.Context, in struct{ Day string }) (string, error) { return "none on " + in.Day, nil })},
	})
	if err != nil {
		log.Fatal(err)
	}
	task := orchestrator.Task{
		Input:  delegation.Input{Goal: "Find the cheapest train of the week."},
		Limits: delegation.Limits{ModelCalls: 2, Cost: 5 * messages.Cent, Duration: time.Minute},
	}
	most, err := o.Bound(task, bound.Options{}) // before the run: no model is asked
	fmt.Println("at most", most.ModelCalls.Most, "model calls", err)

	result, err := o.Run(ctx, task)
	if limit := new(machine.LimitError); errors.As(err, &limit) {
		fmt.Println(result.Status, limit.Limit, result.Output.Counts.ToolCalls, "tool calls are kept")
	}
	// Output:
	// at most 2 model calls <nil>
	// limit model_calls 2 tool calls are kept
}

func Example_fanOut() {
	ctx := context.Background()
	o, err := orchestrator.New(orchestrator.Config{
		Client: scripted.New(
			scripted.Reply{For: "By train", Text: "Eight hours."},
			scripted.Reply{For: "By plane", Err: &llmclient.Error{Code: llmclient.CodeUnavailable, Message: "down"}, Times: -1},
			scripted.Reply{For: "Eight hours.", Text: "Take the train."},
		),
		Strategies: strategy.Set{
			"compare": workflow.Parallel(workflow.ParallelConfig{
				Parts: []workflow.Part{
					{Strategy: "trains", Prompt: "By train: {{.Goal}}", Limits: delegation.Limits{ModelCalls: 5}},
					{Strategy: "flights", Prompt: "By plane: {{.Goal}}", OnFailure: workflow.FailureContinue},
				},
				Reduce: &workflow.Part{Strategy: "editor"},
			}),
			"trains":  completetask.New(completetask.Config{System: "You know trains."}),
			"flights": completetask.New(completetask.Config{System: "You know flights."}),
			"editor":  completetask.New(completetask.Config{System: "Give one advice."}),
		},
		Default:  "compare",
		Parallel: 4, // model and tool calls of the whole run at the same time
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: "From Oslo to Rome."}})
	fmt.Println(result.Output.Text(), err)
	// Output: Take the train. <nil>
}

func Example_durableChat() {
	ctx, store := context.Background(), new(checkpoint.Memory)
	process := func(model llmclient.Client) *segue.Session {
		agent := segue.Agent{
			Model:     model,
			Compact:   &compaction.Config{Window: 128_000},              // old turns become a summary
			Configure: func(c *orchestrator.Config) { c.Store = store }, // each turn is a run there
		}
		return agent.Session("ann:trip")
	}
	fmt.Println(process(scripted.New(scripted.Text("Hello, Ann."))).Ask(ctx, "I am Ann."))
	after := process(scripted.New(scripted.Text("You are Ann."))) // the process has ended; this is another
	fmt.Println(after.Ask(ctx, "Who am I?"))
	history, err := after.History(ctx)
	fmt.Println(len(history), "messages", err)
	// Output:
	// Hello, Ann. <nil>
	// You are Ann. <nil>
	// 4 messages <nil>
}
