package toolrun_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
)

// hung ignores its context until release is closed.
func hung(name string, release <-chan struct{}, def tools.Definition) tools.Tool {
	def.Name = name
	return tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
		<-release
		tools.Progress(ctx, "too late")
		return "too late", nil
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes sync.Map
		slow := func(def tools.Definition) tools.Tool {
			return tools.NewRaw(def, func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				causes.Store(def.Name, context.Cause(ctx))
				return "", ctx.Err()
			})
		}
		late := tools.NewRaw(tools.Definition{Name: "late"}, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond)
			return "made it", nil
		})
		set := setOf(t, slow(tools.Definition{Name: "reads", ReadOnly: true}), slow(tools.Definition{Name: "writes"}),
			slow(tools.Definition{Name: "keyed", Idempotent: true, Timeout: time.Second}), late, sleeper("quick", time.Millisecond))
		outs := performAll(t.Context(), toolrun.Runner{Timeout: 2 * time.Second}, jobsFor(set, "reads", "writes", "keyed", "late", "quick")...)
		require.Equal(t, []messages.ToolOutput{
			{CallID: "c0", ToolName: "reads", Status: messages.StatusFailed, Reason: tools.ReasonTimeout, Elapsed: 2 * time.Second, Output: "tools: reads was stopped after its time-out of 2s: context deadline exceeded"},
			{CallID: "c1", ToolName: "writes", Status: messages.StatusUnknown, Reason: tools.ReasonTimeout, Elapsed: 2 * time.Second, Output: "tools: writes was stopped after its time-out of 2s, and whether it had an effect is unknown: context deadline exceeded"},
			{CallID: "c2", ToolName: "keyed", Status: messages.StatusFailed, Reason: tools.ReasonTimeout, Elapsed: time.Second, Output: "tools: keyed was stopped after its time-out of 1s: context deadline exceeded"},
			{CallID: "c3", ToolName: "late", Status: messages.StatusOK, Elapsed: 2100 * time.Millisecond, Output: "made it"},
			{CallID: "c4", ToolName: "quick", Status: messages.StatusOK, Elapsed: time.Millisecond, Output: "quick"},
		}, outs)
		cause, _ := causes.Load("keyed")
		require.Equal(t, &tools.TimeoutError{Tool: "keyed", Timeout: time.Second}, cause)
		require.ErrorIs(t, cause.(error), context.DeadlineExceeded)
		require.EqualError(t, cause.(error), "tools: keyed did not finish within 1s")
	})
}

func TestTimeoutsAreSetByRunnerAndDefinition(t *testing.T) {
	for _, tt := range []struct {
		runner, def, want time.Duration
	}{
		{0, 0, toolrun.DefaultTimeout},
		{time.Second, 0, time.Second},
		{time.Second, time.Minute, time.Minute},
		{-1, 0, 0},
		{time.Second, -1, 0},
		{-1, time.Second, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			set := setOf(t, tools.NewRaw(tools.Definition{Name: "x", Timeout: tt.def}, func(ctx context.Context, _ string) (string, error) {
				deadline, ok := ctx.Deadline()
				require.Equal(t, tt.want != 0, ok)
				if ok {
					require.Equal(t, tt.want, deadline.Sub(began))
				}
				time.Sleep(time.Hour * 24)
				return "", nil
			}))
			outs := performAll(t.Context(), toolrun.Runner{Timeout: tt.runner, Grace: -1}, jobsFor(set, "x")...)
			if tt.want == 0 {
				require.True(t, outs[0].OK())
				return
			}
			require.Equal(t, tt.want, outs[0].Elapsed)
			require.Equal(t, tools.ReasonTimeout, outs[0].Reason)
			time.Sleep(time.Hour * 24) // lets the abandoned tool end
		})
	}
}

func TestHungToolIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		set := setOf(t, hung("writes", release, tools.Definition{}), hung("reads", release, tools.Definition{ReadOnly: true, Timeout: 3 * time.Second}), sleeper("fine", time.Second))
		jobs := jobsFor(set, "writes", "reads", "fine")
		for i := range jobs {
			jobs[i].Progress = func(text string) { t.Error("an abandoned call says " + text) }
		}
		outs := performAll(t.Context(), toolrun.Runner{Timeout: 2 * time.Second, Grace: time.Second}, jobs...)
		require.Equal(t, messages.ToolOutput{
			CallID: "c0", ToolName: "writes", Status: messages.StatusUnknown, Reason: tools.ReasonTimeout, Elapsed: 3 * time.Second,
			Output: "tools: writes was stopped after its time-out of 2s, and whether it had an effect is unknown; it did not stop, was abandoned and may still be running",
		}, outs[0])
		require.Equal(t, messages.ToolOutput{
			CallID: "c1", ToolName: "reads", Status: messages.StatusFailed, Reason: tools.ReasonTimeout, Elapsed: 4 * time.Second,
			Output: "tools: reads was stopped after its time-out of 3s; it did not stop, was abandoned and may still be running",
		}, outs[1])
		require.True(t, outs[2].OK())

		close(release)
	})
}

func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		set := setOf(t, sleeper("quick", time.Second), sleeper("long", time.Hour), hung("hung", release, tools.Definition{}))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(errors.New("the user left")) })

		outs := performAll(ctx, toolrun.Runner{Grace: time.Second}, jobsFor(set, "quick", "long", "hung")...)
		require.Equal(t, []messages.ToolOutput{
			{CallID: "c0", ToolName: "quick", Output: "quick", Status: messages.StatusOK, Elapsed: time.Second},
			{
				CallID: "c1", ToolName: "long", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Elapsed: 2 * time.Second,
				Output: "tools: long was interrupted, and whether it had an effect is unknown: the user left",
			},
			{
				CallID: "c2", ToolName: "hung", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Elapsed: 3 * time.Second,
				Output: "tools: hung was interrupted, and whether it had an effect is unknown; it did not stop, was abandoned and may still be running",
			},
		}, outs)
	})
}

func TestNothingStartsWhenTheContextIsDone(t *testing.T) {
	called := func(context.Context, string) (string, error) {
		t.Error("the tool is called")
		return "", nil
	}
	set := setOf(t, rawTool("raw", called))
	ctx, cancel := context.WithCancel(t.Context())
	begun := toolrun.Runner{}.Begin(ctx, jobFor(set, "raw"))
	cancel()
	for _, out := range append(performAll(ctx, toolrun.Runner{}, jobsFor(set, "raw")...), begun.Perform()) {
		require.Equal(t, messages.StatusFailed, out.Status)
		require.Equal(t, messages.ReasonInterrupted, out.Reason)
		require.Equal(t, "tools: the run was interrupted before this call was started", out.Output)
	}
	require.Equal(t, tools.ReasonUnknownTool, toolrun.Runner{}.Run(ctx, jobFor(set, "nope")).Reason)
}

// An error that a tool returns before its context is done is its own, even if it looks like one of
// the context.
func TestOwnDeadlineIsAnError(t *testing.T) {
	set := setOf(t, rawTool("x", func(ctx context.Context, _ string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Nanosecond)
		defer cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}))
	outs := performAll(t.Context(), toolrun.Runner{}, jobsFor(set, "x")...)
	require.Equal(t, tools.ReasonError, outs[0].Reason)
	require.Equal(t, messages.StatusFailed, outs[0].Status)
}

type ctxKey struct{}

// The context of a tool behaves like one of package context.
func TestContextOfATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithDeadline(context.WithValue(t.Context(), ctxKey{}, "value"), time.Now().Add(time.Minute))
		defer cancel()
		var kept context.Context
		set := setOf(t, tools.NewRaw(tools.Definition{Name: "x", Timeout: time.Hour}, func(ctx context.Context, _ string) (string, error) {
			kept = ctx
			require.Equal(t, "value", ctx.Value(ctxKey{}))
			deadline, ok := ctx.Deadline()
			require.True(t, ok)
			require.Equal(t, time.Minute, time.Until(deadline), "the nearer one")
			require.NoError(t, ctx.Err())
			require.NoError(t, context.Cause(ctx))
			first, second := ctx.Done(), ctx.Done()
			require.Equal(t, first, second)

			child, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			ran := make(chan struct{})
			context.AfterFunc(child, func() { close(ran) })
			<-ran
			require.ErrorIs(t, context.Cause(child), context.DeadlineExceeded)
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
			require.Equal(t, "run/7/c0", tools.IdempotencyKey(child), "found through derived contexts")
			return "", ctx.Err()
		}))
		job := jobFor(set, "x")
		job.Key = "run/7/c0"
		out := toolrun.Runner{}.Run(parent, job)
		require.Equal(t, messages.ReasonInterrupted, out.Reason, "%s", out.Output)
		require.Error(t, kept.Err())
	})
}

func TestContextEndsWithTheCall(t *testing.T) {
	var asked, unasked context.Context
	set := setOf(t, rawTool("asks", func(ctx context.Context, _ string) (string, error) {
		asked = ctx
		return "", ctx.Err()
	}), rawTool("does_not", func(ctx context.Context, _ string) (string, error) {
		unasked = ctx
		return "", nil
	}))
	for _, job := range jobsFor(set, "asks", "does_not") {
		require.True(t, toolrun.Runner{Timeout: -1}.Run(t.Context(), job).OK())
	}
	for _, ctx := range []context.Context{asked, unasked} {
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		tools.Progress(ctx, "into the void")
		_, ok := ctx.Deadline()
		require.False(t, ok)
	}
	require.NoError(t, t.Context().Err())
}

func TestContextOfAnAbandonedCallIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		result := make(chan error, 1)
		set := setOf(t, rawTool("x", func(ctx context.Context, _ string) (string, error) {
			<-release
			result <- context.Cause(ctx) // the first thing that the tool asks for
			return "", nil
		}))
		performAll(t.Context(), toolrun.Runner{Timeout: time.Second}, jobsFor(set, "x")...)
		close(release)
		require.ErrorAs(t, <-result, new(*tools.TimeoutError))
	})
}

func TestIdempotencyKey(t *testing.T) {
	require.Empty(t, tools.IdempotencyKey(t.Context()))
	require.Empty(t, tools.CallID(t.Context()))
	set := setOf(t, rawTool("key", func(ctx context.Context, _ string) (string, error) { return tools.IdempotencyKey(ctx), nil }))
	job := jobFor(set, "key")
	require.Empty(t, toolrun.Runner{}.Run(t.Context(), job).Output)
	job.Key = "run/3/c0"
	require.Equal(t, "run/3/c0", toolrun.Runner{}.Run(t.Context(), job).Output)
}

func TestCallID(t *testing.T) {
	set := setOf(t, rawTool("id", func(ctx context.Context, _ string) (string, error) { return tools.CallID(ctx), nil }))
	require.Equal(t, []string{"c0", "c1"}, outputsOf(performAll(t.Context(), toolrun.Runner{}, jobsFor(set, "id", "id")...)))
}
