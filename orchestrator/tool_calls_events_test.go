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
	"pgregory.net/rapid"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// ofCall says which call an event is about, and what it says of it; "" if it is about none.
func ofCall(e machine.Event) (id, says string) {
	switch d := e.Detail.(type) {
	case machine.ToolStarted:
		return d.Call.ID, "started"
	case machine.ToolProgress:
		return d.CallID, "says " + strings.TrimRight(e.Text, " …")
	case machine.ToolFinished:
		return d.Output.CallID, "finished"
	default:
		return "", ""
	}
}

// A call is told as started before its tool is called, and what tools say is told while they run.
func TestToolCalls_told(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called atomic.Bool
		slow := raw("slow", func(ctx context.Context, _ string) (string, error) {
			called.Store(true)
			tools.Progress(ctx, "half")
			time.Sleep(2 * time.Second)
			tools.Progress(ctx, "al\xffmost"+strings.Repeat(" ", 5000))
			return "slow", nil
		})
		var told []string
		for e, err := range batchOf(t, callsTo("slow", "quick", "nope"), []tools.Tool{slow, sleeper("quick", time.Second)}).Stream(t.Context(), task("go")) {
			require.NoError(t, err)
			id, says := ofCall(e)
			if id == "" {
				continue
			}
			require.Equal(t, says == "started" && id == "c0", id == "c0" && !called.Load(), "it is called after it is told")
			require.LessOrEqual(t, len(e.Text), 4110)
			told = append(told, id+" "+says)
		}
		require.Equal(t, []string{
			"c2 finished", "c0 started", "c1 started", "c0 says half", "c1 finished", "c0 says al\uFFFDmost", "c0 finished",
		}, told)
	})
}

// A tool that never stops talking neither waits for a consumer that is slow, nor fills the memory.
func TestToolCalls_progressIsBounded(t *testing.T) {
	const most = 1000
	ended := make(chan struct{})
	talks := raw("talks", func(ctx context.Context, _ string) (string, error) {
		defer close(ended)
		for i := range 100_000 {
			tools.Progress(ctx, fmt.Sprint(i))
		}
		return "done", nil
	})
	heard := 0
	for e, err := range batchOf(t, callsTo("talks"), []tools.Tool{talks}).Stream(t.Context(), task("go")) {
		require.NoError(t, err)
		if e.Kind == machine.EventToolProgress {
			if heard++; heard == 1 {
				waittest.Receive(t, ended) // it does not wait
			}
		}
	}
	require.Positive(t, heard)
	require.Less(t, heard, most)
}

// S3-5, S4-15: every call has one result, in its place, whatever becomes of the others. It is told
// as finished once, after it was told as started if its tool was called, and nothing follows.
func TestS3_5_S4_15_toolCalls(t *testing.T) {
	nothing := func(context.Context, string) (string, error) { return "", nil }
	list := []tools.Tool{
		raw("raw", nothing),
		sleeper("short", time.Microsecond),
		tools.NewRaw(tools.Definition{Name: "alone", Sequential: true}, nothing),
		raw("panics", func(context.Context, string) (string, error) { panic("x") }),
		raw("talks", func(ctx context.Context, _ string) (string, error) { tools.Progress(ctx, "x"); return "", nil }),
	}
	names := []string{"nope"}
	for _, tool := range list {
		names = append(names, tool.Definition().Name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		calls := callsTo(rapid.SliceOfN(rapid.SampledFrom(names), 1, 12).Draw(rt, "calls")...)
		events, err := collect(t, batchOf(t, calls, list, parallel(3)), task("go"))
		lawful(rt, events)
		require.NoError(rt, err)
		state := map[string]string{}
		for _, e := range events {
			id, says := ofCall(e)
			require.False(rt, id != "" && state[id] == "finished", "%s after its end", id)
			switch says {
			case "started":
				require.Empty(rt, state[id])
				state[id] = says
			case "says x":
				require.Equal(rt, "started", state[id])
			case "finished":
				state[id] = says
			}
		}
		outs := finished(t, events).Output.ToolMetas()
		require.Len(rt, outs, len(calls))
		for i, out := range outs {
			require.Equal(rt, calls[i].ID, out.CallID)
			require.Equal(rt, calls[i].Name, out.ToolName)
			require.Equal(rt, "finished", state[out.CallID])
			require.Equal(rt, out.Status == messages.StatusOK, out.Reason == "")
		}
	})
}

// A consumer that panics gets its panic. What is performed is cut off, nothing is left behind, and
// the run can be resumed.
func TestToolCalls_consumerThatPanics(t *testing.T) {
	for _, when := range []string{"c1 started", "c1 finished"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which ends when every goroutine has ended
				store := new(checkpoint.Memory)
				list := []tools.Tool{
					tools.NewRaw(tools.Definition{Name: "slow", ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
						select {
						case <-time.After(time.Second):
							return "slow", nil
						case <-ctx.Done():
							return "", ctx.Err()
						}
					}),
					tools.NewRaw(tools.Definition{Name: "quick", ReadOnly: true}, func(context.Context, string) (string, error) { return "quick", nil }),
				}
				o := batchOf(t, callsTo("slow", "quick", "slow"), list, stored(store))
				require.PanicsWithValue(t, "mine", func() {
					for e := range o.Stream(t.Context(), task("go")) {
						if id, says := ofCall(e); id+" "+says == when {
							panic("mine")
						}
					}
				})
				events := watchedOn(t, o, "r")
				for _, out := range finished(t, events).Output.ToolMetas() {
					require.Equal(t, out.ToolName, out.Output)
				}
			})
		})
	}
}

// A consumer that is slow slows the run, and loses nothing but progress.
func TestToolCalls_consumerThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []tools.Tool{sleeper("quick", time.Second), progressing("half")}
		told := map[string]int{}
		for e, err := range batchOf(t, callsTo("quick", "half", "quick"), list).Stream(t.Context(), task("go")) {
			require.NoError(t, err)
			time.Sleep(time.Minute)
			_, says := ofCall(e)
			told[says]++
		}
		require.Equal(t, 3, told["started"])
		require.Equal(t, 3, told["finished"])
		require.Equal(t, 1, told["says half way"])
	})
}
