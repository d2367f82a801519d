package strategytest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// In a test: everything that the world can answer is tried, and no law is broken.
func ExampleExplore() {
	clerk := completetask.New(completetask.Config{MaxModelCalls: 3})
	_ = func(t *testing.T) {
		strategytest.Explore(t, clerk, explore.Options{
			Name: "clerk", Depth: 4, Tools: []tools.Definition{{Name: "pay", NeedsApproval: true}},
		})
	}
	// Output:
}

// In a test: whatever the world answers, a payment is never made without an approval.
func ExampleNever() {
	clerk := completetask.New(completetask.Config{MaxModelCalls: 3})
	o := explore.Options{Name: "clerk", States: 2000, Tools: []tools.Definition{{Name: "pay", NeedsApproval: true}}}
	_ = func(t *testing.T) {
		strategytest.Never(t, clerk, o, explore.CallsUnapproved("pay"))
		strategytest.CanReach(t, clerk, o, explore.CallsApproved("pay")) // so there are payments
		strategytest.Leads(t, clerk, o, explore.Calls("pay"), explore.Ended)
	}
	// Output:
}

// Outside of a test, and several queries at once. The path to what must not be is a story.
func ExampleNever_several() {
	clerk := completetask.New(completetask.Config{MaxModelCalls: 3})
	r, err := explore.Run(clerk, explore.Options{
		Name: "clerk", States: 100, Tools: []tools.Definition{{Name: "pay"}},
		Queries: []explore.Query{
			explore.CanReach(explore.InState("clerk", "awaiting_tools")),
			explore.Never(explore.CallsUnapproved("pay")),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range r.Results {
		fmt.Println(&r.Results[i])
	}
	fmt.Println(strings.TrimSpace(r.Results[1].Story))
	// Output:
	// can reach: yes: after [#1 call pay]
	// never: no: after [#1 call pay]: it holds
	// # A path of clerk that refutes: never.
	// # At its end: it holds.
	//
	// tool pay
	// ----
	//
	// walk clerk steps
	// goal a task
	// #1 call pay
	// ----
	//   frame 0 in awaiting_model: #1 model offered pay
	// #1 call pay
	//   frame 0 in awaiting_tools: #2/1 tool pay {}
	// every law holds
}

// A path is walked again, by its reactions.
func ExampleStories_walk() {
	clerk := completetask.New(completetask.Config{})
	o := explore.Options{Name: "clerk", Tools: []tools.Definition{{Name: "pay", NeedsApproval: true}}}
	err := explore.Walk(clerk, o, []string{"#1 call pay", "#2/1/1 says no"}, func(s *explore.State) { fmt.Println(s) })
	fmt.Println(err)
	_ = func(t *testing.T) { strategytest.Stories(t, "testdata/stories", strategy.Set{"clerk": clerk}) }
	// Output:
	// frame 0 in awaiting_model: #1 model offered pay
	// frame 0 in awaiting_tools: #2/1/1 person approval pay {}
	// frame 0 in awaiting_model: #3 model offered pay
	// <nil>
}
