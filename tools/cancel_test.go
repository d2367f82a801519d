package tools_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		outs := tools.Runner{Timeout: 2 * time.Second}.Run(t.Context(), batchFor(set, "reads", "writes", "keyed", "late", "quick"))
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
		{0, 0, tools.DefaultTimeout},
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
			outs := tools.Runner{Timeout: tt.runner, Grace: -1}.Run(t.Context(), batchFor(set, "x"))
			if tt.want == 0 {
				require.True(t, outs[0].OK())
				return
			}
			require.Equal(t, tt.want, outs[0].Elapsed)
			require.Equal(t, tools.ReasonTimeout, outs[0].Reason)
			time.Sleep(time.Hour * 24) // the abandoned tool ends
		})
	}
}

func TestHungToolIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		set := setOf(t, hung("writes", release, tools.Definition{}), hung("reads", release, tools.Definition{ReadOnly: true, Timeout: 3 * time.Second}), sleeper("fine", time.Second))
		var seen []string
		batch := batchFor(set, "writes", "reads", "fine")
		batch.Observe = func(o tools.Observation) { seen = append(seen, fmt.Sprint(o.Kind, o.Index, o.Text)) }
		session := tools.Runner{Timeout: 2 * time.Second, Grace: time.Second}.NewSession()
		defer session.Close()

		began := time.Now()
		outs := session.Run(t.Context(), batch)
		require.Equal(t, 4*time.Second, time.Since(began), "the time-out and the grace of the slower")
		require.Equal(t, messages.ToolOutput{
			CallID: "c0", ToolName: "writes", Status: messages.StatusUnknown, Reason: tools.ReasonTimeout, Elapsed: 3 * time.Second,
			Output: "tools: writes was stopped after its time-out of 2s, and whether it had an effect is unknown; it did not stop, was abandoned and may still be running",
		}, outs[0])
		require.Equal(t, messages.ToolOutput{
			CallID: "c1", ToolName: "reads", Status: messages.StatusFailed, Reason: tools.ReasonTimeout, Elapsed: 4 * time.Second,
			Output: "tools: reads was stopped after its time-out of 3s; it did not stop, was abandoned and may still be running",
		}, outs[1])
		require.True(t, outs[2].OK())

		before := slices.Clone(seen)
		close(release)
		synctest.Wait()
		require.Equal(t, "too late", session.Run(t.Context(), batchFor(set, "reads"))[0].Output, "the session goes on")
		require.Equal(t, before, seen, "nothing more is heard of an abandoned call")
		require.Equal(t, "tools: writes was", outs[0].Output[:17])
	})
}

func TestInterruptedBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		var started atomic.Int32
		set := setOf(t, sleeper("quick", time.Second), sleeper("long", time.Hour), hung("hung", release, tools.Definition{}),
			rawTool("next", func(context.Context, string) (string, error) { started.Add(1); return "", nil }))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(errors.New("the user left")) })

		began := time.Now()
		batch := batchFor(set, "quick", "long", "hung", "next")
		batch.Calls = append(batch.Calls, messages.ToolCall{ID: "c4", Name: "next"})
		outs := tools.Runner{Parallel: 2, Grace: time.Second}.Run(ctx, batch)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Zero(t, started.Load())
		require.Equal(t, "quick", outs[0].Output, "a finished sibling keeps its result")
		require.Equal(t, messages.ToolOutput{
			CallID: "c1", ToolName: "long", Status: messages.StatusUnknown, Reason: messages.ReasonInterrupted, Elapsed: 2 * time.Second,
			Output: "tools: long was interrupted, and whether it had an effect is unknown: the user left",
		}, outs[1])
		require.Equal(t, messages.StatusUnknown, outs[2].Status)
		require.Equal(t, messages.ReasonInterrupted, outs[2].Reason)
		require.Contains(t, outs[2].Output, "abandoned")
		for _, o := range outs[3:] {
			require.Equal(t, messages.StatusFailed, o.Status)
			require.Equal(t, messages.ReasonInterrupted, o.Reason)
			require.Equal(t, "tools: the run was interrupted before this call was started", o.Output)
		}
	})
}

func TestNothingStartsWhenTheBatchIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var seen []tools.ObservationKind
	batch := batchFor(setOf(t, rawTool("raw", noop), pureRaw{rawTool("pure", noop)}), "raw", "pure", "nope")
	batch.Observe = func(o tools.Observation) { seen = append(seen, o.Kind) }
	outs := tools.Runner{}.Run(ctx, batch)
	require.Equal(t, []string{messages.ReasonInterrupted, messages.ReasonInterrupted, tools.ReasonUnknownTool}, []string{outs[0].Reason, outs[1].Reason, outs[2].Reason})
	require.Equal(t, []tools.ObservationKind{tools.Finished, tools.Finished, tools.Finished}, seen)
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
	outs := tools.Runner{}.Run(t.Context(), batchFor(set, "x"))
	require.Equal(t, tools.ReasonError, outs[0].Reason)
	require.Equal(t, messages.StatusFailed, outs[0].Status)
}

type ctxKey struct{}

// The context that a tool gets does all that one of package context does.
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
		batch := batchFor(set, "x")
		batch.Run, batch.Seq = "run", 7
		outs := tools.Runner{}.Run(parent, batch)
		require.Equal(t, messages.ReasonInterrupted, outs[0].Reason, "%s", outs[0].Output)
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
	session := tools.Runner{Timeout: -1}.NewSession()
	defer session.Close()
	session.Run(t.Context(), batchFor(set, "asks", "does_not"))
	session.Run(t.Context(), batchFor(set, "asks"))
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
			result <- context.Cause(ctx) // the first that it asks
			return "", nil
		}))
		tools.Runner{Timeout: time.Second}.Run(t.Context(), batchFor(set, "x"))
		close(release)
		require.ErrorAs(t, <-result, new(*tools.TimeoutError))
	})
}

func TestIdempotencyKey(t *testing.T) {
	require.Empty(t, tools.IdempotencyKey(t.Context()))
	require.Empty(t, tools.CallID(t.Context()))
	set := setOf(t, rawTool("key", func(ctx context.Context, _ string) (string, error) { return tools.IdempotencyKey(ctx), nil }))
	batch := batchFor(set, "key", "key")
	require.Equal(t, []string{"", ""}, outputsOf(tools.Runner{}.Run(t.Context(), batch)))
	batch.Run, batch.Seq = "run", 3
	require.Equal(t, []string{"run/3/c0", "run/3/c1"}, outputsOf(tools.Runner{}.Run(t.Context(), batch)))
}

func TestCallID(t *testing.T) {
	set := setOf(t, rawTool("id", func(ctx context.Context, _ string) (string, error) { return tools.CallID(ctx), nil }))
	require.Equal(t, []string{"c0", "c1"}, outputsOf(tools.Runner{}.Run(t.Context(), batchFor(set, "id", "id"))))
}

// No two calls have the same key, whatever a provider puts into the ids of its calls.
func TestIdempotencyKey_isOfOneCall(t *testing.T) {
	set := setOf(t, rawTool("key", func(ctx context.Context, _ string) (string, error) { return tools.IdempotencyKey(ctx), nil }))
	keyOf := func(run string, seq int, id string) string {
		out := tools.Runner{}.Run(t.Context(), tools.Batch{
			Calls: []messages.ToolCall{{ID: id, Name: "key"}}, Lookup: set.Lookup, Run: run, Seq: seq,
		})
		return out[0].Output
	}
	require.NotEqual(t, keyOf("r", 2, "a/2/b"), keyOf("r/2/a", 2, "b"), "that of a run that the call a made")
	rapid.Check(t, func(t *rapid.T) {
		type call struct {
			run, id string
			seq     int
		}
		draw := func(name string) call {
			text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/%2F12")), 1, 8, -1)
			return call{text.Draw(t, name+" run"), text.Draw(t, name+" id"), rapid.IntRange(1, 22).Draw(t, name+" seq")}
		}
		a, b := draw("a"), draw("b")
		require.Equal(t, a == b, keyOf(a.run, a.seq, a.id) == keyOf(b.run, b.seq, b.id))
	})
}
