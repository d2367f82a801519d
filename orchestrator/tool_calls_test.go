package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// callsTo are calls of the tools of those names, with the ids c0, c1, ….
func callsTo(names ...string) []messages.ToolCall {
	calls := make([]messages.ToolCall, len(names))
	for i, name := range names {
		calls[i] = messages.ToolCall{ID: fmt.Sprintf("c%d", i), Name: name, Arguments: "{}"}
	}
	return calls
}

// batchOf is a run whose strategy makes those calls at once, and is done with their results.
func batchOf(t *testing.T, calls []messages.ToolCall, list []tools.Tool, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	var names []string
	for _, tool := range list {
		names = append(names, tool.Definition().Name)
	}
	edit = append(edit, with(list...), func(c *orchestrator.Config) { c.Client = scripted.New(scripted.Calls(calls...)) })
	return staged(t, only(payer(names...)), edit...)
}

// results runs an Orchestrator and returns the results of the calls.
func results(t *testing.T, o *orchestrator.Orchestrator) []messages.ToolOutput {
	t.Helper()
	res := ran(t, o, task("go"))
	return res.Output.ToolMetas()
}

func parallel(n int) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Parallel = n }
}

// raw is a tool that is not read-only.
func raw(name string, fn func(context.Context, string) (string, error)) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, fn)
}

// sleeper is a tool that takes a while, or until its context ends.
func sleeper(name string, d time.Duration) tools.Tool {
	return raw(name, func(ctx context.Context, _ string) (string, error) {
		select {
		case <-time.After(d):
			return name, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
}

// Parallel is how many calls are made at once, and no call waits as long as there is a place.
func TestToolCalls_parallelIsALimit(t *testing.T) {
	for limit, want := range map[int]int32{1: 1, 3: 3, 0: 8, -1: 40} {
		for _, wrapped := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var now, most atomic.Int32
				x := raw("x", func(context.Context, string) (string, error) {
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(time.Second)
					now.Add(-1)
					return "", nil
				})
				edit := []func(*orchestrator.Config){parallel(limit)}
				if wrapped {
					edit = append(edit, changing("{}"))
				}
				outs := results(t, batchOf(t, callsTo(strings.Fields(strings.Repeat("x ", 40))...), []tools.Tool{x}, edit...))
				require.Equal(t, want, most.Load())
				require.Len(t, outs, 40)
				for _, out := range outs {
					require.True(t, out.OK())
				}
			})
		}
	}
}
