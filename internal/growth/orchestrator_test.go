package orchestrator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/growth"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// many is a reply that calls a tool n times.
func many(n int) messages.Assistant {
	var a messages.Assistant
	for i := range n {
		a.Content = append(a.Content, messages.ToolCall{ID: fmt.Sprintf("call_%08d", i), Name: "t", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return a
}

// caller asks once, makes the calls of the reply, and is done.
func caller() strategy.Strategy {
	return &scene{
		start:   func(delegation.Input) nextstep.NextStep { return ask("x", "t") },
		reply:   func(r llmclient.Response) nextstep.NextStep { return nextstep.ExecuteTools{Calls: r.Message.Calls()} },
		results: func([]messages.ToolOutput) nextstep.NextStep { return done("ok") },
	}
}

// What a reply costs grows with the number of its calls, and not with its square: whichever way the
// calls go.
func TestGrowth_callsOfOneReply(t *testing.T) {
	costs := growth.Of(t)
	pure := tools.NewPureRaw(tools.Definition{Name: "t"}, func(string) (string, error) { return "", nil })
	raw := tools.NewRaw(tools.Definition{Name: "t"}, func(context.Context, string) (string, error) { return "", nil })
	unlimited := delegation.Limits{ToolCalls: -1}
	approve := &orchestrator.ApprovalConfig{Default: orchestrator.AskAlways}
	edit := []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e orchestrator.Effect) (nextstep.Answer, error) {
			if e.Kind == machine.EffectTool {
				e.Call.Arguments = "{}"
			}
			return next(ctx, e)
		}
	}}
	yes := func(context.Context, orchestrator.Wait) (orchestrator.Reply, error) {
		return orchestrator.Reply{Approve: true}, nil
	}
	for name, cfg := range map[string]orchestrator.Config{
		"beyond the limit":    {Tools: []tools.Tool{pure}, Limits: delegation.Limits{ToolCalls: 1}},
		"inline":              {Tools: []tools.Tool{pure}, Limits: unlimited},
		"in the background":   {Tools: []tools.Tool{raw}, Limits: unlimited},
		"not offered":         {Limits: unlimited},
		"edited":              {Tools: []tools.Tool{pure}, Limits: unlimited, Middleware: edit},
		"approved in process": {Tools: []tools.Tool{pure}, Limits: unlimited, Approve: approve, Reply: yes},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Strategies = strategy.Set{"solve": caller}
			costs.AreLinear(t, 500, func(n int) {
				cfg.Client = scripted.New(scripted.Calls(many(n).Calls()...))
				o, err := orchestrator.New(cfg)
				require.NoError(t, err)
				res, _ := orchestrator.Fold(o.Stream(t.Context(), task("x")))
				require.Equal(t, cfg.Limits.ToolCalls < 0, res.Status == orchestrator.StatusDone, "%v", res.Output.Err)
				require.Len(t, res.Output.ToolMetas(), n)
			})
		})
	}
}

// So does what it costs to suspend a run in the middle of a large batch, and to go on with the
// replies to all of it.
func TestGrowth_suspendedCalls(t *testing.T) {
	pure := tools.NewPureRaw(tools.Definition{Name: "t"}, func(string) (string, error) { return "", nil })
	growth.Of(t).AreLinear(t, 200, func(n int) {
		cfg := orchestrator.Config{
			Client:     scripted.New(scripted.Calls(many(n).Calls()...)),
			Strategies: strategy.Set{"solve": caller},
			Tools:      []tools.Tool{pure},
			Store:      &checkpoint.Memory{},
			Limits:     delegation.Limits{ToolCalls: -1},
			Approve:    &orchestrator.ApprovalConfig{Default: orchestrator.AskAlways},
		}
		o, err := orchestrator.New(cfg)
		require.NoError(t, err)
		res, err := o.Run(t.Context(), task("x"))
		require.NoError(t, err)
		require.Len(t, res.Waits, n)
		var replies []orchestrator.Reply
		for _, w := range res.Waits {
			replies = append(replies, orchestrator.Reply{WaitID: w.ID, Approve: true})
		}
		res, err = orchestrator.Fold(o.Resume(t.Context(), resuming("r", replies...)))
		require.NoError(t, err)
		require.Equal(t, "ok", res.Output.Text())
	})
}

// And what it costs to hold the answers, in any order, to the effects that are open.
func TestGrowth_answersOfTheMachine(t *testing.T) {
	cfg := &machine.Config{
		Strategies: strategy.Set{"solve": caller}, Limits: delegation.Limits{ToolCalls: -1}, Parallel: -1,
		Tools: []tools.Definition{{Name: "t", ReadOnly: true}},
	}
	growth.Of(t).AreLinear(t, 1000, func(n int) {
		m := machine.New(cfg)
		require.NoError(t, m.Apply(machine.Started{Run: "r"}))
		m.Advance()
		require.NoError(t, m.Apply(machine.Answered{Effect: machine.EffectID{Seq: 1}, Answer: nextstep.APIResponse{Response: &llmclient.Response{Message: many(n)}}}))
		effects := slices.Clone(m.Ready().Effects)
		require.Len(t, effects, n)
		for _, e := range slices.Backward(effects) {
			m.Advance()
			out := messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name}
			require.NoError(t, m.Apply(e.Answered(nextstep.ToolResult{Output: out}, time.Time{}, 0)))
		}
		require.True(t, m.Done())
	})
}

// What a step costs does not grow with the steps that are behind it: of a strategy that asks with
// all that was said so far, and with a journal.
func TestGrowth_steps(t *testing.T) {
	growth.Of(t).AreLinear(t, 200, func(n int) {
		model := scripted.Func(func(req *llmclient.Request) scripted.Reply {
			if len(req.Messages) >= 2*n {
				return scripted.Text("enough")
			}
			return scripted.Calls(scripted.Call("t", "{}", fmt.Sprintf("c%d", len(req.Messages))))
		})
		model.Times = -1
		o, err := orchestrator.New(orchestrator.Config{
			Client:     scripted.NewClient(scripted.Config{Replies: []scripted.Reply{model}, NoRecord: true}),
			Strategies: strategy.Set{"solve": stopsSolver},
			Tools:      []tools.Tool{tools.NewPureRaw(tools.Definition{Name: "t"}, func(string) (string, error) { return "", nil })},
			Store:      &checkpoint.Memory{},
			Limits:     delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1},
		})
		require.NoError(t, err)
		res, err := o.Run(t.Context(), task("x"))
		require.NoError(t, err)
		require.Equal(t, "enough", res.Output.Text())
		require.Greater(t, res.Output.Counts.ModelCalls, n-2)
	})
}
