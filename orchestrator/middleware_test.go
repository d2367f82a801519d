package orchestrator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// A middleware sees each step, may change it, and may answer it itself; what it does wrong fails
// the step, not the process.
func TestMiddleware(t *testing.T) {
	type handler = func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error)
	run := func(h handler, replies ...scripted.Reply) (orchestrator.Result, error) {
		return solver(t, scripted.New(replies...), with(echo("a")), handles(h)).Run(t.Context(), task("go"))
	}
	t.Run("answers", func(t *testing.T) {
		res, err := run(func(_ context.Context, e machine.Effect, _ orchestrator.Handler) (nextstep.Answer, error) {
			require.Equal(t, "r/1/0", e.Key())
			require.Equal(t, machine.EffectModel, e.Kind)
			return said("from the middleware"), nil
		})
		require.NoError(t, err)
		require.Equal(t, "from the middleware", res.Output.Text())
	})
	for name, wrong := range map[string]nextstep.Answer{"answers nothing": nil, "answers something else": nextstep.ToolResult{}} {
		t.Run(name, func(t *testing.T) {
			_, err := run(func(context.Context, machine.Effect, orchestrator.Handler) (nextstep.Answer, error) {
				return wrong, nil
			})
			require.ErrorContains(t, err, "the answer cannot be used: ")
		})
	}
	t.Run("suspends without saying for what", func(t *testing.T) {
		res, err := run(func(context.Context, machine.Effect, orchestrator.Handler) (nextstep.Answer, error) {
			return nil, &orchestrator.SuspendedError{}
		})
		require.ErrorIs(t, err, tools.ErrSuspended)
		require.Equal(t, machine.StatusWaiting, res.Status)
		require.Len(t, res.Waits, 1)
	})
	t.Run("loses the result when the run ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1"))), with(echo("pay")),
			handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
				answer, err := next(ctx, e)
				if e.Kind == machine.EffectTool {
					cancel()
					return nil, ctx.Err()
				}
				return answer, err
			}))
		res, err := o.Run(ctx, task("go"))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, messages.StatusUnknown, res.Output.ToolMetas()[0].Status, "it may have had its effect")
	})
	t.Run("suspends", func(t *testing.T) {
		wait := machine.Wait{ID: "w", Kind: "review", Text: "May I?"}
		res, err := run(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			if e.Kind == machine.EffectTool {
				return nil, fmt.Errorf("ask first: %w", &orchestrator.SuspendedError{Waits: []machine.Wait{wait}})
			}
			return next(ctx, e)
		}, scripted.Calls(scripted.Call("a", "{}", "1")))
		require.ErrorIs(t, err, tools.ErrSuspended)
		require.Equal(t, machine.StatusWaiting, res.Status)
		wait.Run, wait.Frame, wait.Seq, wait.CallID, wait.Tool, wait.Arguments = "r", "0", 2, "1", "a", "{}"
		require.Equal(t, []machine.Wait{wait.Identified(machine.EffectID{Seq: 2, Index: 1})}, res.Waits, "it says whose wait it is, and has an id that fits")
		require.NoError(t, res.Output.Messages.Validate())
	})
	t.Run("context values reach tools", func(t *testing.T) {
		type key struct{}
		see := tools.NewRaw(tools.Definition{Name: "see"}, func(ctx context.Context, _ string) (string, error) {
			return fmt.Sprint(ctx.Value(key{}), " ", tools.IdempotencyKey(ctx)), nil
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("see", "{}", "c9")), scripted.Text("done")), with(see))
		res, err := o.Run(context.WithValue(t.Context(), key{}, "value"), task("go"))
		require.NoError(t, err)
		require.Equal(t, "value r/2/1", res.Output.ToolMetas()[0].Output)
	})
}

// A tool that asks a model of its own, and is abandoned while it does, does not reach into the run.
func TestNoticesAreOfTheRunsOwnModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := llmclient.Retry(scripted.New(
			scripted.Error(&llmclient.Error{Code: llmclient.CodeUnavailable}), scripted.Text("late"),
		), llmclient.RetryConfig{Base: 3 * time.Minute, MaxWait: -1})
		asks := tools.NewRaw(tools.Definition{Name: "asks"}, func(ctx context.Context, _ string) (string, error) {
			_, err := inner.Complete(context.WithoutCancel(ctx), &llmclient.Request{Messages: messages.History{messages.UserText("x")}}, nil)
			return "", err
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("asks", "{}", "1")), scripted.Text("done")), with(asks))
		events := watched(t, o, task("go"))
		require.NotContains(t, kinds(events), machine.EventRetryWaiting)
		time.Sleep(10 * time.Minute) // the abandoned tool comes to its end
	})
}

// A reply that could not stand in a history, or none at all, is the client's mistake, not the
// strategy's.
func TestUnsoundReplies(t *testing.T) {
	none := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
		return nil, nil
	})
	_, err := solver(t, none).Run(t.Context(), task("go"))
	require.ErrorContains(t, err, "neither a response nor an error")
	require.Equal(t, llmclient.CodeBadResponse, llmclient.CodeOf(err))
	for want, content := range map[string][]messages.AssistantContent{
		"a call without an id":      {messages.ToolCall{Name: "a"}},
		`two calls with the id "1"`: {messages.ToolCall{ID: "1", Name: "a"}, messages.ToolCall{ID: "1", Name: "a"}},
		"*messages.ToolCall":        {&messages.ToolCall{ID: "1", Name: "a"}},
	} {
		client := llmclient.ClientFunc(func(context.Context, *llmclient.Request, func(llmclient.Delta)) (*llmclient.Response, error) {
			return &llmclient.Response{Message: messages.Assistant{Content: content}}, nil
		})
		_, err := solver(t, client, with(echo("a"))).Run(t.Context(), task("go"))
		require.ErrorContains(t, err, want)
		require.Equal(t, llmclient.CodeBadResponse, llmclient.CodeOf(err))
	}
}
