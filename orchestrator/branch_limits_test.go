package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// crowd is an orchestrator whose root opens n agents by one call. Each asks, calls a tool, asks
// again, and so on without end. What was done is counted where it is done.
type crowd struct {
	n            int
	asked, ran   atomic.Int64
	busy, busier atomic.Int64 // at once: now, and at most
	*orchestrator.Orchestrator
}

func newCrowd(t *testing.T, n int, edit ...func(*orchestrator.Config)) *crowd {
	t.Helper()
	c := &crowd{n: n}
	var goals []string
	for i := range n {
		goals = append(goals, fmt.Sprint("part ", i))
	}
	list, err := json.Marshal(map[string]any{"goals": goals})
	require.NoError(t, err)
	model := llmclient.ClientFunc(func(_ context.Context, req *llmclient.Request, _ func(llmclient.Delta)) (*llmclient.Response, error) {
		defer c.work()()
		c.asked.Add(1)
		call := messages.ToolCall{ID: fmt.Sprint(len(req.Messages)), Name: "again", Arguments: "{}"}
		switch {
		case goalOf(req) != "go":
		case answered(req):
			return &llmclient.Response{Message: messages.AssistantText("done"), Usage: tokens}, nil
		default:
			call.Name, call.Arguments = "worker", string(list)
		}
		return &llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call}}, Usage: tokens}, nil
	})
	again := tools.NewRaw(tools.Definition{Name: "again", ReadOnly: true}, func(context.Context, string) (string, error) {
		defer c.work()()
		c.ran.Add(1)
		return "", nil
	})
	fanOut := worker(func(a *orchestrator.Agent) { a.FanOut = true })
	c.Orchestrator = solver(t, model, append([]func(*orchestrator.Config){withWork, workAll, with(fanOut, again)}, edit...)...)
	return c
}

// work counts what is done at once.
func (c *crowd) work() func() {
	now := c.busy.Add(1)
	for {
		most := c.busier.Load()
		if now <= most || c.busier.CompareAndSwap(most, now) {
			return func() { c.busy.Add(-1) }
		}
	}
}

// 200 agents at once pass no limit of the run, whichever it is, and what the root has used is what
// was done.
func TestBranches_limitsAreExact(t *testing.T) {
	const n = 200
	for name, test := range map[string]struct {
		limits delegation.Limits
		used   func(*orchestrator.Result) int
	}{
		"model calls": {delegation.Limits{ModelCalls: 301, ToolCalls: -1, Steps: -1}, func(r *orchestrator.Result) int { return r.Output.Counts.ModelCalls }},
		"tool calls":  {delegation.Limits{ToolCalls: 303, ModelCalls: -1, Steps: -1}, func(r *orchestrator.Result) int { return r.Output.Counts.ToolCalls }},
		"steps":       {delegation.Limits{Steps: 507, ModelCalls: -1, ToolCalls: -1}, func(r *orchestrator.Result) int { return r.Output.Counts.Steps }},
	} {
		for _, parallel := range []int{0, 1, -1} {
			t.Run(fmt.Sprintf("%s, parallel %d", name, parallel), func(t *testing.T) {
				c := newCrowd(t, n, func(cfg *orchestrator.Config) { cfg.Parallel = parallel })
				ta := task("go")
				ta.Limits = test.limits
				res, err := c.Run(t.Context(), ta)
				var limit *machine.LimitError
				require.ErrorAs(t, err, &limit)
				require.Equal(t, machine.StatusLimit, res.Status)
				require.LessOrEqual(t, int64(test.used(&res)), limit.Max)
				counts := res.Output.Counts
				require.EqualValues(t, c.asked.Load(), counts.ModelCalls, "what was asked")
				require.EqualValues(t, c.ran.Load()+1, counts.ToolCalls, "what was called, with the agents")
				require.Equal(t, c.asked.Load()*tokens.Total, res.Output.Usage.Total)
				switch parallel {
				case 0:
					require.LessOrEqual(t, c.busier.Load(), int64(8), "Parallel bounds all of the run")
				case 1:
					require.EqualValues(t, 1, c.busier.Load())
				}
			})
		}
	}
}

// No model is asked once the tokens are used up, though it was to be asked before that was known:
// by an agent within its own, and by all of them within those of the run.
func TestBranches_tokens(t *testing.T) {
	c := newCrowd(t, 200, func(cfg *orchestrator.Config) { cfg.Parallel = 1 })
	ta := task("go")
	ta.Limits.TotalTokens = 10 * tokens.Total
	res, err := c.Run(t.Context(), ta)
	require.Error(t, err)
	require.Equal(t, machine.StatusLimit, res.Status)
	require.EqualValues(t, 10, c.asked.Load())
	require.Equal(t, 10, res.Output.Counts.ModelCalls, "those that were not begun are given back")

	own := worker(func(a *orchestrator.Agent) { a.Limits.OutputTokens = 3 * tokens.Output })
	var asked atomic.Int32
	m := always(func(req *llmclient.Request) scripted.Reply {
		switch {
		case goalOf(req) != "go":
			asked.Add(1)
			return billed(scripted.Calls(scripted.Call("again", "{}", fmt.Sprint(len(req.Messages)))))
		case answered(req):
			return billed(scripted.Text("done"))
		default:
			return billed(scripted.Calls(scripted.Call("worker", `{"goal":"a"}`, "1"), scripted.Call("worker", `{"goal":"b"}`, "2")))
		}
	})
	res, err = solver(t, m, withWork, workAll, with(own, echo("again"))).Run(t.Context(), task("go"))
	require.NoError(t, err)
	require.EqualValues(t, 6, asked.Load())
	for _, out := range res.Output.ToolMetas() {
		require.Contains(t, out.Output, "output_tokens")
	}
}

// What one agent leaves its siblings can use: nothing is set aside for anybody.
func TestBranches_useWhatIsLeft(t *testing.T) {
	m := always(func(req *llmclient.Request) scripted.Reply {
		switch goal := goalOf(req); {
		case goal == "go" && !answered(req):
			return scripted.Calls(scripted.Call("worker", `{"goal":"short"}`, "1"), scripted.Call("worker", `{"goal":"long"}`, "2"))
		case goal == "long" && toolMessages(req) < 6:
			return scripted.Calls(scripted.Call("again", fmt.Sprint(len(req.Messages)), fmt.Sprint(len(req.Messages))))
		default:
			return scripted.Text("did " + goal)
		}
	})
	ta := task("go")
	ta.Limits = delegation.Limits{ModelCalls: 10} // 1 + 1 + 7 + 1
	res, err := solver(t, m, withWork, workAll, with(worker(), echo("again"))).Run(t.Context(), ta)
	require.NoError(t, err)
	require.Equal(t, "did long", res.Output.ToolMetas()[1].Output)
	require.Equal(t, delegation.Counts{Steps: 17, ModelCalls: 10, ToolCalls: 8}, res.Output.Counts)
}

// A remote child is handed what is left and no more, is started with nothing by nobody, and counts
// with what it says it has used; one that says nothing has used all that it was handed.
func TestBranches_remoteLimits(t *testing.T) {
	for name, test := range map[string]struct {
		says    delegation.Counts
		handed  []int // model calls
		counted int
	}{
		"that tells":         {delegation.Counts{Steps: 2, ModelCalls: 2}, []int{4, 2}, 5},
		"that tells nothing": {delegation.Counts{}, []int{4}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			var handed []int
			away := func(_ context.Context, step nextstep.Delegate) (delegation.Output, error) {
				handed = append(handed, step.Limits.ModelCalls)
				text := "away"
				return delegation.Output{Result: &text, Counts: test.says}, nil
			}
			delegate := nextstep.Delegate{Strategy: "away", Limits: delegation.Limits{ModelCalls: 100}}
			o := solver(t, scripted.New(scripted.Text("a")), func(c *orchestrator.Config) {
				c.Remote = map[string]orchestrator.Remote{"away": away}
				c.Strategies = strategy.Set{"solve": func() strategy.Strategy {
					return &scene{
						Reply: func(llmclient.Response) nextstep.NextStep { return delegate },
						Child: func(delegation.Output) nextstep.NextStep { return delegate },
					}
				}}
			})
			ta := task("go")
			ta.Limits = delegation.Limits{ModelCalls: 5}
			res, err := o.Run(t.Context(), ta)
			require.Error(t, err)
			require.Equal(t, machine.StatusLimit, res.Status)
			require.Equal(t, test.handed, handed)
			require.Equal(t, test.counted, res.Output.Counts.ModelCalls)
		})
	}
}

// again asks a remote again and again.
type again struct {
	strategy.Defaults
	left int
}

func (a *again) Initialize(delegation.Input) nextstep.NextStep {
	if a.left--; a.left < 0 {
		return nextstep.Complete{}
	}
	return nextstep.Delegate{Strategy: "away", Input: delegation.Input{Goal: "go"}}
}

func (a *again) ProcessDelegationResult(delegation.Output) nextstep.NextStep {
	return a.Initialize(delegation.Input{})
}

// Limits hold whatever a remote says that it has used: large counts do not wrap round, and counts
// below zero are refused, so that they give nothing back.
func TestLimits_countsOfRemotes(t *testing.T) {
	run := func(t *testing.T, c delegation.Counts, unpriced int) (orchestrator.Result, int) {
		t.Helper()
		calls := 0
		o, err := orchestrator.New(orchestrator.Config{
			Client: scripted.New(), Strategies: strategy.Set{"a": func() strategy.Strategy { return &again{left: 50} }},
			Remote: map[string]orchestrator.Remote{"away": func(context.Context, nextstep.Delegate) (delegation.Output, error) {
				calls++
				return delegation.Output{Counts: c, Unpriced: unpriced}, nil
			}},
			Limits: delegation.Limits{Steps: 10, ModelCalls: 10, ToolCalls: 10},
		})
		require.NoError(t, err)
		res, _ := o.Run(t.Context(), task("go"))
		require.LessOrEqual(t, res.Left.Handoffs, 16)
		return res, calls
	}
	for _, c := range []delegation.Counts{
		{Steps: math.MaxInt}, {Steps: 1, ModelCalls: math.MaxInt}, {Steps: 1, ToolCalls: math.MaxInt}, {Steps: math.MaxInt - 3, Handoffs: math.MaxInt},
	} {
		res, calls := run(t, c, math.MaxInt)
		require.Equal(t, machine.StatusLimit, res.Status, "%+v", c)
		require.Equal(t, math.MaxInt, res.Output.Unpriced)
		got := res.Output.Counts
		for _, n := range []int{got.Steps, got.ModelCalls, got.ToolCalls, got.Handoffs} {
			require.GreaterOrEqual(t, n, 0, "%+v", c)
		}
		require.LessOrEqual(t, calls, 10, "%+v", c)
	}
	for _, c := range []delegation.Counts{{Steps: 1, Handoffs: -1000}, {Steps: math.MinInt}} {
		res, calls := run(t, c, 0)
		require.Equal(t, machine.StatusFailed, res.Status)
		require.Contains(t, res.Output.Err.Message, "negative counts")
		require.Equal(t, 1, calls)
	}
	res, calls := run(t, delegation.Counts{Steps: 3}, 0)
	require.Equal(t, machine.StatusLimit, res.Status)
	require.LessOrEqual(t, calls, 4)
}
