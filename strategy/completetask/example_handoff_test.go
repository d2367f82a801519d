package completetask_test

import (
	"context"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// The first strategy finds out what is wanted, and another one takes its place.
func ExampleHandoff() {
	set := strategy.Set{
		"triage": completetask.New(completetask.Config{
			System: "Find out what the user wants, and hand over.",
			Handoffs: []completetask.Handoff{
				{Strategy: "refunds", Description: "Hand over when the user wants money back."},
				{Strategy: "books", Tool: "to_books", History: completetask.HistoryGoal},
			},
		}),
		"refunds": completetask.New(completetask.Config{System: "You handle refunds."}),
		"books":   completetask.New(completetask.Config{System: "You keep the books."}),
	}
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Calls(scripted.Call("transfer_to_refunds", "{}", "c1")), scripted.Text("You get it back.")),
		Strategies: set, Default: "triage",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := o.Run(context.Background(), orchestrator.Task{Input: delegation.Input{Goal: "I want my money back."}})
	fmt.Println(res.Output.Text(), res.Strategy, err)
	// Output: You get it back. refunds <nil>
}

// triage is a strategy that hands off.
type triage struct{ strategy.Strategy }

// Names implements strategy.Namer.
func (t *triage) Names() strategy.Names {
	return strategy.Names{Handoffs: []string{"refunds"}}
}

var _ strategy.Namer = (*triage)(nil)
