package toolrun_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestProgress(t *testing.T) {
	var kept context.Context
	set := setOf(t, rawTool("x", func(ctx context.Context, _ string) (string, error) {
		kept = ctx
		tools.Progress(ctx, "half")
		tools.Progress(ctx, "al\xffmost"+strings.Repeat(" ", 5000))
		return "", nil
	}))
	job := jobFor(set, "x")
	require.True(t, toolrun.Runner{}.Run(t.Context(), job).OK(), "nobody listens")
	var heard []string
	job.Progress = func(text string) {
		require.LessOrEqual(t, len(text), 4110)
		heard = append(heard, strings.TrimRight(text, " …"))
	}
	require.True(t, toolrun.Runner{}.Run(t.Context(), job).OK())
	require.Equal(t, []string{"half", "al\uFFFDmost"}, heard)
	tools.Progress(kept, "after the end")
	tools.Progress(t.Context(), "outside a call")
	require.Len(t, heard, 2)
}

// An abandoned call reports nothing more, and its context is done.
func TestAbandon(t *testing.T) {
	for _, abandoned := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			begun, release := make(chan struct{}), make(chan struct{})
			var asked error
			set := setOf(t, rawTool("x", func(ctx context.Context, _ string) (string, error) {
				close(begun)
				<-release
				require.Equal(t, abandoned, ctx.Err() != nil)
				ctx = context.WithoutCancel(ctx)
				tools.Progress(ctx, "more")
				tools.Attach(ctx, messages.Attachment{Name: "more"})
				_, asked = tools.Ask(ctx, tools.Question{Text: "more?"})
				return "done", nil
			}))
			job := jobFor(set, "x")
			var heard []string
			job.Progress = func(text string) { heard = append(heard, text) }
			job.Ask = func(_ context.Context, a tools.Asked) (string, error) {
				heard = append(heard, a.Text)
				return "", nil
			}
			c := toolrun.Runner{}.Begin(t.Context(), job)
			performed := make(chan messages.ToolOutput, 1)
			go func() { performed <- c.Perform() }()
			<-begun
			time.Sleep(time.Second)
			want := messages.ToolOutput{
				CallID: "c0", ToolName: "x", Output: "done", Status: messages.StatusOK, Elapsed: time.Second,
				Attachments: []messages.Attachment{{Name: "more"}},
			}
			if abandoned {
				want = c.Abandon(messages.ReasonInterrupted)
				require.Equal(t, messages.ToolOutput{
					CallID: "c0", ToolName: "x", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Elapsed: time.Second,
					Output: "tools: x was interrupted, and whether it had an effect is unknown; it did not stop, was abandoned and may still be running",
				}, want)
			}
			close(release)
			require.Equal(t, want, <-performed)
			if abandoned {
				require.Empty(t, heard)
				require.ErrorIs(t, asked, context.Canceled)
				return
			}
			require.Equal(t, []string{"more", "more?"}, heard)
			require.NoError(t, asked)
		})
	}
}

// If a call is abandoned before it is performed, its tool is never called.
func TestAbandon_BeforePerform(t *testing.T) {
	set := setOf(t, rawTool("x", func(context.Context, string) (string, error) {
		t.Error("the tool is called")
		return "", nil
	}))
	for reason, text := range map[string]string{
		messages.ReasonInterrupted: "tools: the run was interrupted before this call was started",
		tools.ReasonTimeout:        "tools: the time was over before this call was started",
	} {
		c := toolrun.Runner{}.Begin(t.Context(), jobFor(set, "x"))
		want := messages.ToolOutput{CallID: "c0", ToolName: "x", Output: text, Status: messages.StatusFailed, Reason: reason}
		require.Equal(t, want, c.Abandon(reason))
		require.Equal(t, want, c.Perform())
	}
}

// The panic of an abandoned call is not a result, but OnPanic is still called.
func TestAbandon_PanicIsTold(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	set := setOf(t, rawTool("x", func(context.Context, string) (string, error) {
		close(begun)
		<-release
		panic("late")
	}))
	told := make(chan any, 1)
	r := toolrun.Runner{OnPanic: func(_ messages.ToolCall, value any, _ []byte) { told <- value }}
	c := r.Begin(t.Context(), jobFor(set, "x"))
	performed := make(chan messages.ToolOutput, 1)
	go func() { performed <- c.Perform() }()
	waittest.Receive(t, begun)
	out := c.Abandon(tools.ReasonTimeout)
	close(release)
	require.Equal(t, "late", waittest.Receive(t, told))
	require.Equal(t, out, waittest.Receive(t, performed))
}

// A call has one result, that of the tool or that of Abandon, however often it is requested.
func TestRunning_hasOneResult(t *testing.T) {
	bodies := map[string]rawFunc{
		"ok":     noop,
		"fails":  func(context.Context, string) (string, error) { return "", errors.New("no") },
		"panics": func(context.Context, string) (string, error) { panic("x") },
		"exits":  func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil },
		"waits":  func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
		"talks":  func(ctx context.Context, _ string) (string, error) { tools.Progress(ctx, "x"); return "", nil },
	}
	var all []tools.Tool
	for name, body := range bodies {
		all = append(all, rawTool(name, body))
	}
	set := setOf(t, all...)
	names := rapid.SampledFrom(append(set.Names(), "nope"))
	rapid.Check(t, func(t *rapid.T) {
		job := jobFor(set, names.Draw(t, "tool"))
		job.Progress = func(string) {}
		c := toolrun.Runner{}.Begin(context.Background(), job)
		abandoners := rapid.IntRange(1, 3).Draw(t, "abandoners")
		yields := rapid.IntRange(0, 50).Draw(t, "yields")
		outs := make([]messages.ToolOutput, abandoners+1)
		var all sync.WaitGroup
		all.Go(func() {
			returned := false
			defer func() {
				if !returned {
					outs[abandoners] = c.Exited()
				}
			}()
			outs[abandoners] = c.Perform()
			returned = true
		})
		for i := range abandoners {
			all.Go(func() {
				for range yields {
					runtime.Gosched()
				}
				outs[i] = c.Abandon(messages.ReasonInterrupted)
			})
		}
		all.Wait()
		require.Equal(t, "c0", outs[0].CallID)
		require.Equal(t, job.Call.Name, outs[0].ToolName)
		require.Equal(t, outs[0].Status == messages.StatusOK, outs[0].Reason == "")
		for _, out := range outs[1:] {
			require.Equal(t, outs[0], out)
		}
	})
}

func TestRunning_Due(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := setOf(t, rawTool("x", func(ctx context.Context, _ string) (string, error) {
			at, _ := ctx.Deadline()
			return time.Until(at).String(), nil
		}))
		c := toolrun.Runner{Timeout: time.Minute}.Begin(t.Context(), jobFor(set, "x"))
		at, ok := c.Due()
		require.True(t, ok)
		require.Equal(t, time.Minute, time.Until(at))
		time.Sleep(time.Second)
		require.Equal(t, "59s", c.Perform().Output, "the time runs from Begin")
		_, ok = toolrun.Runner{Timeout: -1}.Begin(t.Context(), jobFor(set, "x")).Due()
		require.False(t, ok)
	})
}

// Besides its tool, a call allocates one object.
func TestRunner_Allocations(t *testing.T) {
	job := jobFor(setOf(t, rawTool("raw", noop)), "raw")
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { toolrun.Runner{}.Run(t.Context(), job) }), 1.0)
}

func TestRunner_NamesThatPanic(t *testing.T) {
	job := toolrun.Job{Call: callsTo("x")[0], Names: func() []string { panic("mine") }}
	require.Equal(t, tools.ReasonPanic, toolrun.Runner{}.Run(t.Context(), job).Reason)
}
