package orchestrator_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/growth"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// What a batch costs grows with the number of its calls, and not with its square: also while its
// first call runs longer than all others, when all run at once, and behind a middleware.
func TestGrowth_toolCalls(t *testing.T) {
	costs := growth.Of(t)
	for name, edit := range map[string][]func(*orchestrator.Config){
		"eight at once":              nil,
		"all at once":                {parallel(-1)},
		"all at once, in middleware": {parallel(-1), handles(passing)},
	} {
		t.Run(name, func(t *testing.T) {
			costs.AreLinear(t, 500, func(n int) {
				last := make(chan struct{})
				tool := raw("t", func(_ context.Context, arguments string) (string, error) {
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
				o := batchOf(t, calls, []tools.Tool{tool}, append(edit, func(c *orchestrator.Config) { c.Limits = delegation.Limits{ToolCalls: -1} })...)
				ended := 0
				for e, err := range o.Stream(t.Context(), task("go")) {
					require.NoError(t, err)
					if e.Kind == orchestrator.EventToolFinished {
						if ended++; ended == n-1 {
							close(last)
						}
					}
				}
				require.Equal(t, n, ended)
			})
		})
	}
}
