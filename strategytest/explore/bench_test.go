package explore_test

import (
	"testing"

	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

// BenchmarkRun explores complete-task with two tools, with all laws on. An operation is a path: a
// reaction that is tried in a state, with everything that leads to the state.
func BenchmarkRun(b *testing.B) {
	for name, defs := range map[string][]tools.Definition{
		"completetask":           {{Name: "look", ReadOnly: true}, {Name: "pay"}},
		"completetask/approvals": {{Name: "look", ReadOnly: true}, {Name: "pay", NeedsApproval: true}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			paths, states := 0, 0
			for paths < b.N {
				r, err := explore.Run(completetask.New(completetask.Config{MaxModelCalls: 3}), explore.Options{States: 10000, Tools: defs})
				if err != nil {
					b.Fatal(err)
				}
				paths, states = paths+r.Paths, states+r.States
			}
			b.ReportMetric(float64(paths)/b.Elapsed().Seconds(), "paths/s")
			b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
		})
	}
}
