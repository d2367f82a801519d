package bound_test

import (
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/tools"
)

// What a run uses at most is known before it.
func Example() {
	cfg := machine.Config{
		Strategies: strategy.Set{
			"careful": retry.New(retry.Config{Strategy: "work", MaxRetries: 1}),
			"work":    completetask.New(completetask.Config{MaxModelCalls: 10}),
		},
		Tools: []tools.Definition{{Name: "search"}},
	}
	run := machine.Started{Strategy: "careful", Limits: delegation.Limits{ToolCalls: 30}}
	b, err := bound.Of(&cfg, run, bound.Options{Call: messages.Usage{Input: 100_000, Output: 4000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("model calls:", b.ModelCalls.Most, b.ModelCalls.By)
	fmt.Println("tool calls:", b.ToolCalls.Most, b.ToolCalls.By)
	fmt.Println("depth:", b.Depth.Most)
	fmt.Println("tokens:", b.TotalTokens.Most)
	// Output:
	// model calls: 26 [the strategies]
	// tool calls: 30 [the limit tool_calls]
	// depth: 2
	// tokens: 2704000
}
