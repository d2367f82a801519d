package coverage_test

import (
	"context"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategytest/coverage"
)

// Runs of production are counted from their journals: nothing is asked or called again.
func Example_journals() {
	ctx := context.Background()
	strategies := strategy.Set{
		"solve": completetask.New(completetask.Config{OnEmpty: completetask.EmptyFail}),
		"retry": retry.New(retry.Config{Strategy: "solve"}),
	}
	store := new(checkpoint.Memory)
	o, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Text(""), scripted.Text("Bergen.")),
		Strategies: strategies, Store: store,
	})
	if err != nil {
		panic(err)
	}
	_, _ = o.Run(ctx, orchestrator.Task{Run: "r1", Strategy: "retry", Input: delegation.Input{Goal: "Which town is the rainiest?"}})

	covered := coverage.New(strategies)
	for event, err := range o.Replay(ctx, checkpoint.Key{Run: "r1"}) {
		if err != nil {
			panic(err)
		}
		covered.Add(event)
	}
	fmt.Print(covered.Of(retry.Table))
	// Output:
	// retry: 3 of 4 states, 3 of 5 transitions
	//   state       times
	//   ready       1
	//   attempting  2
	//   done        1
	//   failed      never
	//   in          when       then        times
	//   ready       started    attempting  1
	//   attempting  retried    attempting  1
	//   attempting  succeeded  done        1
	//   ready       failed     failed      never
	//   attempting  failed     failed      never
}
