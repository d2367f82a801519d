package growth_test

import (
	"context"
	"fmt"
	"testing"

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
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// The growth tests of package orchestrator are here, because its own tests import openai-go, which
// would have to be built again for the binary that counts.

var unlimited = delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1}

// solving returns an Orchestrator of complete-task.
func solving(t *testing.T, cfg orchestrator.Config) *orchestrator.Orchestrator {
	t.Helper()
	cfg.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{MaxModelCalls: -1})}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

var task = orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}}

// calling returns a client that calls the tool t n times in its first reply, and then ends.
func calling(n int) llmclient.Client {
	calls := make([]messages.ToolCall, n)
	for i := range calls {
		calls[i] = messages.ToolCall{ID: fmt.Sprintf("call_%08d", i), Name: "t", Arguments: fmt.Sprintf(`{"n":%d}`, i)}
	}
	return scripted.New(scripted.Calls(calls...), scripted.Text("ok"))
}

func plain() tools.Tool {
	return tools.NewRaw(tools.Definition{Name: "t"}, func(context.Context, string) (string, error) { return "", nil })
}

// middleware does nothing except edit a call.
func middleware(edit func(*messages.ToolCall)) []orchestrator.Middleware {
	return []orchestrator.Middleware{func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			if e.Kind == machine.EffectTool {
				edit(&e.Call)
			}
			return next(ctx, e)
		}
	}}
}

// The cost of a reply grows linearly with the number of its calls, whichever way the calls are
// made.
func TestOrchestrator_callsOfOneReply(t *testing.T) {
	costs := growth.Of(t)
	raw := tools.NewRaw(tools.Definition{Name: "t"}, func(context.Context, string) (string, error) { return "", nil })
	approve := &orchestrator.ApprovalConfig{Default: machine.AskAlways}
	edit := middleware(func(c *messages.ToolCall) { c.Arguments = "{}" })
	yes := func(context.Context, machine.Wait) (machine.Reply, error) {
		return machine.Reply{Approve: true}, nil
	}
	for name, cfg := range map[string]orchestrator.Config{
		"beyond the limit":    {Tools: []tools.Tool{plain()}, Limits: delegation.Limits{ToolCalls: 1}},
		"inline":              {Tools: []tools.Tool{plain()}, Limits: unlimited},
		"in the background":   {Tools: []tools.Tool{raw}, Limits: unlimited},
		"not offered":         {Limits: unlimited},
		"edited":              {Tools: []tools.Tool{plain()}, Limits: unlimited, Middleware: edit},
		"approved in process": {Tools: []tools.Tool{plain()}, Limits: unlimited, Approve: approve, Reply: yes},
	} {
		t.Run(name, func(t *testing.T) {
			costs.AreLinear(t, 250, func(n int) {
				cfg.Client = calling(n)
				res, _ := orchestrator.Collect(solving(t, cfg).Stream(t.Context(), task))
				require.Equal(t, cfg.Limits.ToolCalls < 0, res.Status == machine.StatusDone, "%v", res.Output.Err)
				require.Len(t, res.Output.ToolMetas(), n)
			})
		})
	}
}

// So does the cost of a batch whose first call runs longer than all others, also if all run at
// once, and with a middleware.
func TestOrchestrator_longCall(t *testing.T) {
	costs := growth.Of(t)
	for name, cfg := range map[string]orchestrator.Config{
		"eight at once":              {},
		"all at once":                {Parallel: -1},
		"all at once, in middleware": {Parallel: -1, Middleware: middleware(func(*messages.ToolCall) {})},
	} {
		t.Run(name, func(t *testing.T) {
			costs.AreLinear(t, 250, func(n int) {
				others := make(chan struct{})
				cfg.Limits = unlimited
				cfg.Client = calling(n)
				cfg.Tools = []tools.Tool{tools.NewRaw(tools.Definition{Name: "t"}, func(_ context.Context, arguments string) (string, error) {
					if arguments == `{"n":0}` {
						<-others
					}
					return "", nil
				})}
				ended := 0
				for e, err := range solving(t, cfg).Stream(t.Context(), task) {
					require.NoError(t, err)
					if e.Kind == machine.EventToolFinished {
						if ended++; ended == n-1 {
							close(others)
						}
					}
				}
				require.Equal(t, n, ended)
			})
		})
	}
}

// So does the cost of suspending a run in the middle of a large batch, and of continuing with all
// the replies.
func TestOrchestrator_suspendedCalls(t *testing.T) {
	growth.Of(t).AreLinear(t, 250, func(n int) {
		o := solving(t, orchestrator.Config{
			Client:  calling(n),
			Tools:   []tools.Tool{plain()},
			Store:   &checkpoint.Memory{},
			Limits:  unlimited,
			Approve: &orchestrator.ApprovalConfig{Default: machine.AskAlways},
		})
		res, err := o.Run(t.Context(), task)
		require.NoError(t, err)
		require.Len(t, res.Waits, n)
		resumption := orchestrator.Resumption{Run: task.Run}
		for _, w := range res.Waits {
			resumption.Replies = append(resumption.Replies, machine.Reply{WaitID: w.ID, Approve: true})
		}
		res, err = orchestrator.Collect(o.Resume(t.Context(), resumption))
		require.NoError(t, err)
		require.Equal(t, "ok", res.Output.Text())
	})
}

// The cost of a step does not grow with the number of earlier steps, for a strategy that sends the
// whole conversation, with a journal.
func TestOrchestrator_steps(t *testing.T) {
	growth.Of(t).AreLinear(t, 200, func(n int) {
		model := scripted.Func(func(req *llmclient.Request) scripted.Reply {
			if len(req.Messages) >= 2*n {
				return scripted.Text("enough")
			}
			return scripted.Calls(scripted.Call("t", fmt.Sprintf(`{"n":%8d}`, len(req.Messages)), fmt.Sprintf("c%d", len(req.Messages))))
		})
		model.Times = -1
		o := solving(t, orchestrator.Config{
			Client: scripted.NewClient(scripted.Config{Replies: []scripted.Reply{model}, NoRecord: true}),
			Tools:  []tools.Tool{plain()},
			Store:  &checkpoint.Memory{},
			Limits: unlimited,
		})
		res, err := o.Run(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, "enough", res.Output.Text())
		require.Equal(t, n+1, res.Output.Counts.ModelCalls)
	})
}
