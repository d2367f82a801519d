package tools_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/cputime"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// What a batch costs grows with the number of its calls, and not with its square: also while its
// first call runs longer than all others, and when every call runs at once. Work that grew with the
// square would be 256 times as much for 16 times as many calls; 64 leaves room for the collector.
func TestRunner_growsLikeItsCalls(t *testing.T) {
	batch := func(n, parallel int) {
		last := make(chan struct{})
		started := 0
		tool := tools.NewRaw(tools.Definition{Name: "t"}, func(_ context.Context, arguments string) (string, error) {
			if arguments == "wait" {
				<-last
			}
			return "", nil
		})
		calls := make([]messages.ToolCall, n)
		for i := range calls {
			calls[i] = messages.ToolCall{ID: fmt.Sprintf("call_%08d", i), Name: "t"}
		}
		calls[0].Arguments = "wait"
		runner := tools.Runner{Parallel: parallel}
		out := runner.Run(t.Context(), tools.Batch{
			Calls: calls, Lookup: func(string) (tools.Tool, bool) { return tool, true },
			Observe: func(o tools.Observation) {
				if o.Kind == tools.Finished {
					if started++; started == n-1 {
						close(last)
					}
				}
			},
		})
		require.Len(t, out, n)
	}
	for name, parallel := range map[string]int{"eight at once": 0, "all at once": -1} {
		t.Run(name, func(t *testing.T) {
			const few = 2000
			quickest := func(n, attempts int) time.Duration {
				best := time.Duration(math.MaxInt64)
				for range attempts {
					began := cputime.Process()
					batch(n, parallel)
					best = min(best, cputime.Process()-began)
				}
				return best
			}
			var short, long time.Duration
			for range 4 {
				if short, long = quickest(few, 3), quickest(16*few, 1); long < 64*short {
					return
				}
			}
			t.Fatalf("%d calls take %v, %d take %v", few, short, 16*few, long)
		})
	}
}
