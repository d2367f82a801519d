package tools_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type rawFunc = func(context.Context, string) (string, error)

func setOf(t require.TestingT, all ...tools.Tool) *tools.Set {
	set, err := tools.NewSet(all...)
	require.NoError(t, err)
	return set
}

func rawTool(name string, fn rawFunc) tools.Tool {
	return tools.NewRaw(tools.Definition{Name: name}, fn)
}

// callsTo returns calls to the tools of those names, with ids c0, c1 and so on.
func callsTo(names ...string) []messages.ToolCall {
	calls := make([]messages.ToolCall, len(names))
	for i, name := range names {
		calls[i] = messages.ToolCall{ID: fmt.Sprintf("c%d", i), Name: name, Arguments: "{}"}
	}
	return calls
}

func batchFor(set *tools.Set, names ...string) tools.Batch {
	return tools.Batch{Calls: callsTo(names...), Lookup: set.Lookup, Names: set.Names}
}

func sleeper(name string, d time.Duration) tools.Tool {
	return rawTool(name, func(ctx context.Context, _ string) (string, error) {
		select {
		case <-time.After(d):
			return name, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
}

func outputsOf(outs []messages.ToolOutput) (texts []string) {
	for _, o := range outs {
		texts = append(texts, o.Output)
	}
	return texts
}

func TestS3_5_ParallelCallsInCallOrderOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := setOf(t, sleeper("slow", 3*time.Second), sleeper("quick", time.Second), rawTool("bad", func(context.Context, string) (string, error) {
			time.Sleep(2 * time.Second)
			return "", errors.New("no luck")
		}))
		began := time.Now()
		outs := tools.Runner{}.Run(t.Context(), batchFor(set, "slow", "bad", "quick"))
		require.Equal(t, 3*time.Second, time.Since(began), "at the same time")
		require.Equal(t, []messages.ToolOutput{
			{CallID: "c0", ToolName: "slow", Output: "slow", Status: messages.StatusOK, Elapsed: 3 * time.Second},
			{CallID: "c1", ToolName: "bad", Output: "no luck", Status: messages.StatusFailed, Reason: tools.ReasonError, Elapsed: 2 * time.Second},
			{CallID: "c2", ToolName: "quick", Output: "quick", Status: messages.StatusOK, Elapsed: time.Second},
		}, outs)
	})
}

func TestS0_5_UnknownTool(t *testing.T) {
	set := setOf(t, rawTool("read_file", noop), rawTool("write_file", noop))
	outs := tools.Runner{}.Run(t.Context(), batchFor(set, "read_file", "nope", "read_file"))
	require.Equal(t, []string{"3", `tools: there is no tool "nope"; there are: read_file, write_file`, "3"}, outputsOf(outs))
	require.Equal(t, messages.StatusFailed, outs[1].Status)
	require.Equal(t, tools.ReasonUnknownTool, outs[1].Reason)

	outs = tools.Runner{}.Run(t.Context(), tools.Batch{Calls: callsTo(strings.Repeat("x", 1000))})
	require.Equal(t, `tools: there is no tool "xxxxxxxxxxxxxxxxxxxxxxxx…"`, outs[0].Output)
	outs = tools.Runner{}.Run(t.Context(), batchFor(nil, "x"))
	require.Equal(t, `tools: there is no tool "x"; there are none`, outs[0].Output)
	found := func(string) (tools.Tool, bool) { return nil, true }
	require.Equal(t, tools.ReasonUnknownTool, tools.Runner{}.Run(t.Context(), tools.Batch{Calls: callsTo("x"), Lookup: found})[0].Reason)
}

func TestS0_6_CutArguments(t *testing.T) {
	var ran int
	batch := batchFor(setOf(t, readTool(&ran)), "read_file")
	batch.Calls[0].Arguments = `{"path": `
	outs := tools.Runner{}.Run(t.Context(), batch)
	require.Zero(t, ran)
	require.Equal(t, messages.StatusFailed, outs[0].Status)
	require.Equal(t, tools.ReasonArguments, outs[0].Reason)
	require.Equal(t, "tools: invalid arguments for read_file: not JSON: unexpected end at byte 9", outs[0].Output)
}

func TestS0_7_ToolError(t *testing.T) {
	set := setOf(t, rawTool("fail", func(context.Context, string) (string, error) { return "ignored", errors.New("file not found: a") }),
		rawTool("mute", func(context.Context, string) (string, error) { return "", errors.New("") }))
	outs := tools.Runner{}.Run(t.Context(), batchFor(set, "fail", "mute"))
	require.Equal(t, []string{"file not found: a", "tools: mute failed and did not say why"}, outputsOf(outs))
	require.Equal(t, messages.StatusFailed, outs[0].Status)
	require.Equal(t, tools.ReasonError, outs[0].Reason)
}

func TestEmptyBatch(t *testing.T) {
	require.Empty(t, tools.Runner{}.Run(t.Context(), tools.Batch{}))
}

func TestParallelIsALimit(t *testing.T) {
	for limit, want := range map[int]int32{1: 1, 3: 3, 0: tools.DefaultParallel, -1: 40} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int32
			set := setOf(t, rawTool("x", func(context.Context, string) (string, error) {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Second)
				now.Add(-1)
				return "", nil
			}))
			outs := tools.Runner{Parallel: limit}.Run(t.Context(), batchFor(set, strings.Fields(strings.Repeat("x ", 40))...))
			require.Equal(t, want, most.Load())
			for _, o := range outs {
				require.True(t, o.OK())
			}
		})
	}
}

// Whatever the mix: a sequential call overlaps nothing, what is before it is finished, what is
// behind it has not begun.
func TestSequentialNeverOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mu sync.Mutex
		running, done := map[string]bool{}, map[string]bool{}
		fail := ""
		body := func(sequential bool) rawFunc {
			return func(_ context.Context, id string) (string, error) {
				mu.Lock()
				if sequential && (len(running) > 0 || len(done) != index(id)) {
					fail = fmt.Sprintf("%s begins beside %v after %v", id, running, done)
				}
				running[id] = true
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				delete(running, id)
				done[id] = true
				mu.Unlock()
				return id, nil
			}
		}
		set := setOf(t, rawTool("free", body(false)), tools.NewRaw(tools.Definition{Name: "alone", Sequential: true}, body(true)),
			pureRaw{rawTool("pure", body(false))}, pureRaw{tools.NewRaw(tools.Definition{Name: "pure_alone", Sequential: true}, body(true))})
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"free", "free", "alone", "pure", "pure_alone"}), 1, 12).Draw(t, "calls")
		batch := batchFor(set, names...)
		for i := range batch.Calls {
			batch.Calls[i].Arguments = fmt.Sprint(i)
		}
		outs := tools.Runner{Parallel: rapid.IntRange(-1, 3).Draw(t, "limit")}.Run(context.Background(), batch)
		require.Empty(t, fail)
		for i, o := range outs {
			require.Equal(t, fmt.Sprint(i), o.Output)
		}
	})
}

func index(id string) (n int) {
	_, _ = fmt.Sscan(id, &n)
	return n
}

func TestPanics(t *testing.T) {
	const secret = "sk-secret"
	type private struct{ Key string }
	for name, tt := range map[string]struct {
		body func()
		want string
	}{
		"a string":        {func() { panic(secret) }, "tools: x panicked: with a string"},
		"an error":        {func() { panic(errors.New(secret)) }, "tools: x panicked: with a *errors.errorString"},
		"a struct":        {func() { panic(private{secret}) }, "tools: x panicked: with a tools_test.private"},
		"nil":             {func() { panic(nil) }, "tools: x panicked: panic called with nil argument"},
		"a runtime error": {func() { _ = []int{}[len(secret)] }, "tools: x panicked: runtime error: index out of range [9] with length 0"},
		"Goexit":          {runtime.Goexit, "tools: x ended its goroutine and left no result"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var told []string
			runner := tools.Runner{OnPanic: func(call messages.ToolCall, value any, stack []byte) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, fmt.Sprint(call.ID, value))
				require.Contains(t, string(stack), "runner_test.go")
			}}
			body := func(context.Context, string) (string, error) {
				tt.body()
				return "", nil
			}
			set := setOf(t, rawTool("x", body), rawTool("ok", noop), pureRaw{rawTool("pure", body)})
			names := []string{"ok", "x", "ok", "ok"}
			if name != "Goexit" {
				names = append(names, "pure")
			}
			outs := runner.Run(t.Context(), batchFor(set, names...))
			require.Equal(t, tt.want, outs[1].Output)
			require.Equal(t, messages.StatusFailed, outs[1].Status)
			require.Equal(t, tools.ReasonPanic, outs[1].Reason)
			for _, i := range []int{0, 2, 3} {
				require.Equal(t, "3", outs[i].Output, "a sibling goes on")
			}
			if name == "Goexit" {
				require.Empty(t, told)
				return
			}
			require.Equal(t, strings.ReplaceAll(tt.want, "x", "pure"), strings.ReplaceAll(outs[4].Output, "x", "pure"))
			require.Len(t, told, 2)
		})
	}
}

func TestPanickingErrorText(t *testing.T) {
	set := setOf(t, rawTool("x", func(context.Context, string) (string, error) { return "", (*tools.ArgumentError)(nil) }))
	outs := tools.Runner{}.Run(t.Context(), batchFor(set, "x"))
	require.Equal(t, tools.ReasonPanic, outs[0].Reason)
}

func TestGoexitInOneGoroutineForAll(t *testing.T) {
	set := setOf(t, rawTool("x", func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil }))
	session := tools.Runner{Parallel: 2}.NewSession()
	defer session.Close()
	for range 3 {
		for _, o := range session.Run(t.Context(), batchFor(set, "x", "x", "x", "x", "x")) {
			require.Equal(t, tools.ReasonPanic, o.Reason)
		}
	}
}

func TestResultBounds(t *testing.T) {
	give := func(text string, most int) messages.ToolOutput {
		def := tools.Definition{Name: "x", MaxResult: most}
		set := setOf(t, tools.NewRaw(def, func(context.Context, string) (string, error) { return text, nil }))
		return tools.Runner{}.Run(t.Context(), batchFor(set, "x"))[0]
	}
	require.Equal(t, "hello", give("hello", 5).Output)
	require.Equal(t, "hell\n[cut: 1 of 5 bytes are left out]", give("hello", 4).Output)
	require.Equal(t, "日\n[cut: 3 of 6 bytes are left out]", give("日本", 5).Output, "at the boundary of a rune")
	require.Equal(t, "a\uFFFDb", give("a\xff\xfeb", 0).Output, "as UTF-8")
	require.Equal(t, "\uFFFDa\n[cut: 2 of 4 bytes are left out]", give("\xffabc", 4).Output, "cut again if that made it longer")
}

func TestResultOf100MiB(t *testing.T) {
	huge := strings.Repeat("x", 100<<20)
	set := setOf(t, rawTool("x", func(context.Context, string) (string, error) { return huge, nil }),
		tools.NewRaw(tools.Definition{Name: "all", MaxResult: -1}, func(context.Context, string) (string, error) { return huge, nil }),
		rawTool("fail", func(context.Context, string) (string, error) { return "", errors.New(huge) }))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	outs := tools.Runner{}.Run(t.Context(), batchFor(set, "x", "fail", "all"))
	runtime.ReadMemStats(&after)
	for _, o := range outs[:2] {
		require.Less(t, len(o.Output), tools.DefaultMaxResult+100)
		require.True(t, strings.HasSuffix(o.Output, "\n[cut: 104595456 of 104857600 bytes are left out]"))
	}
	require.Len(t, outs[2].Output, 100<<20)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "no copy but of what is kept")
}

func TestArgumentBounds(t *testing.T) {
	var ran atomic.Int32
	length := func(in readArgs) (string, error) {
		ran.Add(1)
		return fmt.Sprint(len(in.Path)), nil
	}
	set := setOf(t, tools.NewPure(tools.Definition{Name: "pure"}, length),
		tools.New(tools.Definition{Name: "typed"}, func(_ context.Context, in readArgs) (string, error) { return length(in) }),
		rawTool("raw", func(_ context.Context, arguments string) (string, error) { return length(readArgs{Path: arguments}) }))
	batch := batchFor(set, "typed", "raw", "pure")
	fill := func(n int) {
		for i := range batch.Calls {
			batch.Calls[i].Arguments = `{"path":"` + strings.Repeat("a", n) + `"}`
		}
	}
	fill(10 << 20)
	for _, o := range (tools.Runner{}).Run(t.Context(), batch) {
		require.Equal(t, tools.ReasonArguments, o.Reason)
		require.Equal(t, "tools: invalid arguments for "+o.ToolName+": 10485771 bytes are too long: at most 1048576", o.Output)
	}
	require.Zero(t, ran.Load())

	fill(1 << 20)
	for _, most := range []int{-1, 2 << 20} {
		outs := tools.Runner{MaxArguments: most}.Run(t.Context(), batch)
		require.Equal(t, []string{"1048576", "1048587", "1048576"}, outputsOf(outs), "a typed tool takes what the runner takes")
	}
	require.Contains(t, tools.Runner{MaxArguments: 5}.Run(t.Context(), batch)[1].Output, "at most 5")
}

func TestUntrustedIsMarked(t *testing.T) {
	def := tools.Definition{Name: "x", Untrusted: true}
	set := setOf(t, tools.NewRaw(def, func(_ context.Context, arguments string) (string, error) {
		if arguments == "panic" {
			panic("x")
		}
		return "page", map[string]error{"fail": errors.New("page")}[arguments]
	}), rawTool("trusted", noop))
	batch := batchFor(set, "x", "x", "x", "trusted")
	batch.Calls[1].Arguments, batch.Calls[2].Arguments = "fail", "panic"
	outs := tools.Runner{}.Run(t.Context(), batch)
	require.Equal(t, []bool{true, true, false, false}, []bool{outs[0].Untrusted, outs[1].Untrusted, outs[2].Untrusted, outs[3].Untrusted})
}

func TestPureRunsOnTheCallersGoroutine(t *testing.T) {
	here := func(context.Context, string) (string, error) {
		buf := make([]byte, 64)
		id, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[")
		return id, nil
	}
	set := setOf(t, pureRaw{rawTool("pure", here)}, rawTool("raw", here))
	mine, _ := here(t.Context(), "")
	outs := tools.Runner{}.Run(t.Context(), batchFor(set, "pure", "raw", "pure"))
	require.Equal(t, mine, outs[0].Output)
	require.NotEqual(t, mine, outs[1].Output)
	require.Equal(t, mine, outs[2].Output)
}

func TestPureRunsBesideOthers(t *testing.T) {
	begun := make(chan struct{})
	set := setOf(t, rawTool("raw", func(context.Context, string) (string, error) { close(begun); return "", nil }),
		pureRaw{rawTool("pure", func(context.Context, string) (string, error) { <-begun; return "", nil })})
	for _, o := range (tools.Runner{}).Run(t.Context(), batchFor(set, "raw", "pure")) {
		require.True(t, o.OK())
	}
}
