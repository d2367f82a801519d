package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
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
	res, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
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

// S3-5: calls of a batch are made at the same time, and their results come in call order; one that
// fails leaves the others alone.
func TestToolCalls_atOnceAndInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := raw("bad", func(context.Context, string) (string, error) {
			time.Sleep(2 * time.Second)
			return "", errors.New("no luck")
		})
		began := time.Now()
		outs := results(t, batchOf(t, callsTo("slow", "bad", "quick"), []tools.Tool{sleeper("slow", 3*time.Second), bad, sleeper("quick", time.Second)}))
		require.Equal(t, 3*time.Second, time.Since(began), "at the same time")
		require.Equal(t, []messages.ToolOutput{
			{CallID: "c0", ToolName: "slow", Output: "slow", Status: messages.StatusOK, Elapsed: 3 * time.Second},
			{CallID: "c1", ToolName: "bad", Output: "no luck", Status: messages.StatusFailed, Reason: tools.ReasonError, Elapsed: 2 * time.Second},
			{CallID: "c2", ToolName: "quick", Output: "quick", Status: messages.StatusOK, Elapsed: time.Second},
		}, outs)
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

// inlineRaw is a tool that neither waits nor needs a context, with a function that does not know
// it.
type inlineRaw struct{ tools.Tool }

func (inlineRaw) Inline() bool { return true }

// Whatever the mix: a Sequential call overlaps nothing, what is before it has ended, and what is
// behind it has not begun.
func TestToolCalls_sequentialNeverOverlaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var mu sync.Mutex
		running, ended := map[string]bool{}, map[string]bool{}
		problem := ""
		body := func(sequential bool) func(context.Context, string) (string, error) {
			return func(_ context.Context, place string) (string, error) {
				mu.Lock()
				if sequential && (len(running) > 0 || fmt.Sprint(len(ended)) != place) {
					problem = fmt.Sprintf("%s begins beside %v after %v", place, running, ended)
				}
				running[place] = true
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				delete(running, place)
				ended[place] = true
				mu.Unlock()
				return place, nil
			}
		}
		alone := func(name string) tools.Definition { return tools.Definition{Name: name, Sequential: true} }
		list := []tools.Tool{
			raw("free", body(false)), tools.NewRaw(alone("alone"), body(true)), inlineRaw{raw("inline", body(false))}, inlineRaw{tools.NewRaw(alone("inline_alone"), body(true))},
		}
		calls := callsTo(rapid.SliceOfN(rapid.SampledFrom([]string{"free", "free", "alone", "inline", "inline_alone"}), 1, 12).Draw(rt, "calls")...)
		for i := range calls {
			calls[i].Arguments = fmt.Sprint(i)
		}
		edit := []func(*orchestrator.Config){parallel(rapid.IntRange(-1, 3).Draw(rt, "parallel"))}
		if rapid.Bool().Draw(rt, "wrapped") {
			edit = append(edit, handles(passing))
		}
		outs := results(t, batchOf(t, calls, list, edit...))
		require.Empty(rt, problem)
		require.Len(rt, outs, len(calls))
		for i, out := range outs {
			require.Equal(rt, fmt.Sprint(i), out.Output)
		}
	})
}

// What a tool panics with fails its call alone, is told to OnPanic, and is not shown. A tool may
// end its goroutine, too.
func TestToolCalls_panics(t *testing.T) {
	const secret = "sk-secret"
	type private struct{ Key string }
	for name, tt := range map[string]struct {
		body func()
		want string
	}{
		"a string":        {func() { panic(secret) }, "tools: x panicked: with a string"},
		"an error":        {func() { panic(errors.New(secret)) }, "tools: x panicked: with a *errors.errorString"},
		"a struct":        {func() { panic(private{secret}) }, "tools: x panicked: with a orchestrator_test.private"},
		"nil":             {func() { panic(nil) }, "tools: x panicked: panic called with nil argument"},
		"a runtime error": {func() { _ = []int{}[len(secret)] }, "tools: x panicked: runtime error: index out of range [9] with length 0"},
		"Goexit":          {runtime.Goexit, "tools: x ended its goroutine and left no result"},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrapped %v", name, wrapped), func(t *testing.T) {
				var told reports
				edit := []func(*orchestrator.Config){told.hook, parallel(2)}
				if wrapped {
					edit = append(edit, handles(passing))
				}
				x := raw("x", func(context.Context, string) (string, error) {
					tt.body()
					return "", nil
				})
				outs := results(t, batchOf(t, callsTo("ok", "x", "ok", "x", "ok"), []tools.Tool{x, echo("ok")}, edit...))
				for i, out := range outs {
					if i%2 == 0 {
						require.Equal(t, "ok{}", out.Output, "a sibling goes on")
						continue
					}
					require.Equal(t, tt.want, out.Output)
					require.Equal(t, messages.StatusFailed, out.Status)
					require.Equal(t, tools.ReasonPanic, out.Reason)
				}
				if name == "Goexit" {
					require.Empty(t, told.where())
				} else {
					require.Len(t, told.where(), 2)
				}
			})
		}
	}
}

// here is the goroutine that it is called on.
func here() string {
	text := make([]byte, 64)
	id, _, _ := strings.Cut(string(text[:runtime.Stack(text, false)]), "[")
	return id
}

// A tool that is Inline is called on the goroutine of the consumer, alone or beside others; any
// other is not.
func TestToolCalls_inlineOnTheGoroutineOfTheLoop(t *testing.T) {
	where := func(context.Context, string) (string, error) { return here(), nil }
	list := []tools.Tool{inlineRaw{raw("inline", where)}, raw("raw", where)}
	for _, names := range [][]string{{"inline"}, {"raw"}, {"inline", "raw", "inline"}} {
		for e, err := range batchOf(t, callsTo(names...), list).Stream(t.Context(), task("go")) {
			require.NoError(t, err)
			if d, ok := e.Detail.(machine.ToolFinished); ok {
				require.Equal(t, d.Output.ToolName == "inline", d.Output.Output == here(), "%v", names)
			}
		}
	}
}

// A tool that is Inline is called while the others of its batch run.
func TestToolCalls_inlineBesideOthers(t *testing.T) {
	begun := make(chan struct{})
	list := []tools.Tool{
		raw("raw", func(context.Context, string) (string, error) { close(begun); return "", nil }),
		inlineRaw{raw("inline", func(context.Context, string) (string, error) { <-begun; return "", nil })},
	}
	for _, out := range results(t, batchOf(t, callsTo("raw", "inline"), list)) {
		require.True(t, out.OK())
	}
}

// No two calls have the same idempotency key, whatever a provider puts into the ids of its calls:
// of one batch, of two steps that use an id again, and of other runs.
func TestToolCalls_idempotencyKeys(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	key := raw("key", func(ctx context.Context, _ string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, tools.IdempotencyKey(ctx))
		return tools.IdempotencyKey(ctx), nil
	})
	sub := orchestrator.AgentTool(orchestrator.Agent{Definition: tools.Definition{Name: "sub"}, Strategy: "work"})
	twice := scripted.Calls(scripted.Call("key", "{}", "1"), scripted.Call("key", "{}", "1/1"), scripted.Call("sub", `{"goal":"g"}`, "2/1"))
	o := solver(t, scripted.New(twice, scripted.Text("the agent's"), twice, scripted.Text("the agent's"), scripted.Text("done")), with(key, sub), withWork)
	_, err := o.Run(t.Context(), task("go"))
	require.NoError(t, err)
	slices.Sort(keys)
	require.Equal(t, []string{"r/2/1", "r/2/2", "r/5/1", "r/5/2"}, keys)

	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) machine.Effect {
			e := machine.Effect{Run: rapid.StringOfN(rapid.SampledFrom([]rune("r/12")), 1, 8, -1).Draw(t, name+" run")}
			e.ID.Seq, e.ID.Index = rapid.IntRange(1, 22).Draw(t, name+" seq"), rapid.IntRange(0, 22).Draw(t, name+" index")
			return e
		}
		a, b := draw("a"), draw("b")
		require.Equal(t, a.Run == b.Run && a.ID == b.ID, a.Key() == b.Key())
	})
}
