package toolrun_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
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

// callsTo returns calls of the named tools, with ids c0, c1 and so on.
func callsTo(names ...string) []messages.ToolCall {
	calls := make([]messages.ToolCall, len(names))
	for i, name := range names {
		calls[i] = messages.ToolCall{ID: fmt.Sprintf("c%d", i), Name: name, Arguments: "{}"}
	}
	return calls
}

// jobFor returns the job of a call c0 of the named tool.
func jobFor(set *tools.Set, name string) toolrun.Job { return jobsFor(set, name)[0] }

func jobsFor(set *tools.Set, names ...string) []toolrun.Job {
	jobs := make([]toolrun.Job, len(names))
	for i, call := range callsTo(names...) {
		tool, _ := set.Lookup(call.Name)
		jobs[i] = toolrun.Job{Call: call, Tool: tool, Names: set.Names}
	}
	return jobs
}

// perform makes a call on its own goroutine. It abandons the call if it does
// not return within the grace period after its context ends.
func perform(ctx context.Context, r toolrun.Runner, j toolrun.Job) messages.ToolOutput {
	c := r.Begin(ctx, j)
	done := make(chan messages.ToolOutput, 1)
	go func() {
		returned := false
		defer func() {
			if !returned {
				done <- c.Exited()
			}
		}()
		out := c.Perform()
		returned = true
		done <- out
	}()
	var due <-chan time.Time
	if at, ok := c.Due(); ok {
		due = time.After(time.Until(at))
	}
	reason := messages.ReasonInterrupted
	for reason == messages.ReasonInterrupted && ctx.Err() == nil {
		select {
		case out := <-done:
			return out
		case <-ctx.Done():
		case <-due:
			if at, _ := c.Due(); time.Now().Before(at) { // the tool has asked a person
				due = time.After(time.Until(at))
			} else {
				reason = tools.ReasonTimeout
			}
		}
	}
	select {
	case out := <-done:
		return out
	case <-time.After(r.WithDefaults().Grace):
		return c.Abandon(reason)
	}
}

// performAll makes calls at the same time.
func performAll(ctx context.Context, r toolrun.Runner, jobs ...toolrun.Job) []messages.ToolOutput {
	outs := make([]messages.ToolOutput, len(jobs))
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() { outs[i] = perform(ctx, r, j) })
	}
	all.Wait()
	return outs
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

func TestS0_5_UnknownTool(t *testing.T) {
	set := setOf(t, rawTool("read_file", noop), rawTool("write_file", noop))
	outs := performAll(t.Context(), toolrun.Runner{}, jobsFor(set, "read_file", "nope", "read_file")...)
	require.Equal(t, []string{"3", `tools: there is no tool "nope"; there are: read_file, write_file`, "3"}, outputsOf(outs))
	require.Equal(t, messages.StatusFailed, outs[1].Status)
	require.Equal(t, tools.ReasonUnknownTool, outs[1].Reason)

	out := toolrun.Runner{}.Run(t.Context(), toolrun.Job{Call: callsTo(strings.Repeat("x", 1000))[0]})
	require.Equal(t, `tools: there is no tool "xxxxxxxxxxxxxxxxxxxxxxxx…"`, out.Output)
	out = toolrun.Runner{}.Run(t.Context(), jobFor(nil, "x"))
	require.Equal(t, `tools: there is no tool "x"; there are none`, out.Output)
}

func TestS0_6_CutArguments(t *testing.T) {
	var ran int
	read := tools.New(tools.Definition{Name: "read_file"}, func(_ context.Context, in readArgs) (string, error) {
		ran++
		return in.Path, nil
	})
	job := jobFor(setOf(t, read), "read_file")
	job.Call.Arguments = `{"path": `
	out := toolrun.Runner{}.Run(t.Context(), job)
	require.Zero(t, ran)
	require.Equal(t, messages.StatusFailed, out.Status)
	require.Equal(t, tools.ReasonArguments, out.Reason)
	require.Equal(t, "tools: invalid arguments for read_file: not JSON: unexpected end at byte 9", out.Output)
}

func TestS0_7_ToolError(t *testing.T) {
	set := setOf(t, rawTool("fail", func(context.Context, string) (string, error) { return "ignored", errors.New("file not found: a") }),
		rawTool("mute", func(context.Context, string) (string, error) { return "", errors.New("") }))
	outs := performAll(t.Context(), toolrun.Runner{}, jobsFor(set, "fail", "mute")...)
	require.Equal(t, []string{"file not found: a", "tools: mute failed and did not say why"}, outputsOf(outs))
	require.Equal(t, messages.StatusFailed, outs[0].Status)
	require.Equal(t, tools.ReasonError, outs[0].Reason)
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
		"a struct":        {func() { panic(private{secret}) }, "tools: x panicked: with a toolrun_test.private"},
		"nil":             {func() { panic(nil) }, "tools: x panicked: panic called with nil argument"},
		"a runtime error": {func() { _ = []int{}[len(secret)] }, "tools: x panicked: runtime error: index out of range [9] with length 0"},
		"Goexit":          {runtime.Goexit, "tools: x ended its goroutine and left no result"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var told []string
			runner := toolrun.Runner{OnPanic: func(call messages.ToolCall, value any, stack []byte) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, fmt.Sprint(call.ID, value))
				require.Contains(t, string(stack), "runner_test.go")
			}}
			body := func(context.Context, string) (string, error) {
				tt.body()
				return "", nil
			}
			set := setOf(t, rawTool("x", body), rawTool("ok", noop))
			outs := performAll(t.Context(), runner, jobsFor(set, "ok", "x", "ok", "ok")...)
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
			require.Len(t, told, 1)
		})
	}
}

func TestResultBounds(t *testing.T) {
	give := func(text string, most int) messages.ToolOutput {
		def := tools.Definition{Name: "x", MaxResult: most}
		set := setOf(t, tools.NewRaw(def, func(context.Context, string) (string, error) { return text, nil }))
		return performAll(t.Context(), toolrun.Runner{}, jobsFor(set, "x")...)[0]
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
	outs := performAll(t.Context(), toolrun.Runner{}, jobsFor(set, "x", "fail", "all")...)
	runtime.ReadMemStats(&after)
	for _, o := range outs[:2] {
		require.Less(t, len(o.Output), tools.DefaultMaxResult+100)
		require.True(t, strings.HasSuffix(o.Output, "\n[cut: 104595456 of 104857600 bytes are left out]"))
	}
	require.Len(t, outs[2].Output, 100<<20)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "no copy but of what is kept")
}

type readArgs struct {
	Path string `json:"path"`
}

func TestArgumentBounds(t *testing.T) {
	var ran atomic.Int32
	length := func(in readArgs) (string, error) {
		ran.Add(1)
		return fmt.Sprint(len(in.Path)), nil
	}
	set := setOf(t, tools.New(tools.Definition{Name: "typed"}, func(_ context.Context, in readArgs) (string, error) { return length(in) }),
		rawTool("raw", func(_ context.Context, arguments string) (string, error) { return length(readArgs{Path: arguments}) }))
	jobs := jobsFor(set, "typed", "raw")
	fill := func(n int) {
		for i := range jobs {
			jobs[i].Call.Arguments = `{"path":"` + strings.Repeat("a", n) + `"}`
		}
	}
	fill(10 << 20)
	for _, o := range performAll(t.Context(), toolrun.Runner{}, jobs...) {
		require.Equal(t, tools.ReasonArguments, o.Reason)
		require.Equal(t, "tools: invalid arguments for "+o.ToolName+": 10485771 bytes are too long: at most 1048576", o.Output)
	}
	require.Zero(t, ran.Load())

	fill(1 << 20)
	for _, most := range []int{-1, 2 << 20} {
		outs := performAll(t.Context(), toolrun.Runner{MaxArguments: most}, jobs...)
		require.Equal(t, []string{"1048576", "1048587"}, outputsOf(outs), "a typed tool takes what the runner takes")
	}
	require.Contains(t, toolrun.Runner{MaxArguments: 5}.Run(t.Context(), jobs[1]).Output, "at most 5")
}

func TestUntrustedIsMarked(t *testing.T) {
	def := tools.Definition{Name: "x", Untrusted: true}
	set := setOf(t, tools.NewRaw(def, func(_ context.Context, arguments string) (string, error) {
		if arguments == "panic" {
			panic("x")
		}
		return "page", map[string]error{"fail": errors.New("page")}[arguments]
	}), rawTool("trusted", noop))
	jobs := jobsFor(set, "x", "x", "x", "trusted")
	jobs[1].Call.Arguments, jobs[2].Call.Arguments = "fail", "panic"
	outs := performAll(t.Context(), toolrun.Runner{}, jobs...)
	require.Equal(t, []bool{true, true, false, false}, []bool{outs[0].Untrusted, outs[1].Untrusted, outs[2].Untrusted, outs[3].Untrusted})
}
