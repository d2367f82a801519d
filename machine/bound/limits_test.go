package bound_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/retry"
)

// Limits below, at and above what the tables allow: the bound is the smaller one, and it says
// which. With fewer steps a run has no use for all model calls, and the other way round.
func TestOf_limitsAroundTheTable(t *testing.T) {
	tables := []bound.Reason{{}}
	limit := func(name string) []bound.Reason { return []bound.Reason{{Limit: name}} }
	for name, test := range map[string]struct {
		limits        delegation.Limits
		models, steps int64
		by, bySteps   []bound.Reason
		reached       [2]int // model calls and steps
	}{
		"below":       {delegation.Limits{ModelCalls: 4}, 4, 7, limit("model_calls"), tables, [2]int{4, 6}},
		"at":          {delegation.Limits{ModelCalls: 5}, 5, 7, tables, tables, [2]int{5, 7}},
		"above":       {delegation.Limits{ModelCalls: 6}, 5, 7, tables, tables, [2]int{5, 7}},
		"steps below": {delegation.Limits{Steps: 6}, 5, 6, tables, limit("steps"), [2]int{4, 6}},
		"few steps":   {delegation.Limits{Steps: 4}, 4, 4, limit("steps"), limit("steps"), [2]int{3, 4}},
		"no tools":    {delegation.Limits{ToolCalls: 1}, 5, 7, tables, tables, [2]int{5, 7}},
		"two limits":  {delegation.Limits{ModelCalls: 3, Steps: 3}, 3, 3, limit("model_calls"), limit("steps"), [2]int{3, 3}},
		"off":         {delegation.Limits{ModelCalls: -1, Steps: -1}, 5, 7, tables, tables, [2]int{5, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			w := alone(completetask.New(completetask.Config{MaxModelCalls: 2}))
			if w.limits = test.limits; name == "no tools" {
				w.width = 2
			}
			b, l := of(t, &w.cfg, w.limits), w.explore(t)
			require.Equal(t, bound.Amount{Most: test.models, By: test.by}, b.ModelCalls)
			require.Equal(t, bound.Amount{Most: test.steps, By: test.bySteps}, b.Steps)
			reached := [2]int{l.ModelCalls, l.Steps}
			require.Equal(t, test.reached, reached)
		})
	}
}

// The limits of a delegation bound its subtree, and are named.
func TestOf_limitsOfChildren(t *testing.T) {
	w := over(retry.New(retry.Config{Strategy: "leaf", MaxRetries: 1, Limits: delegation.Limits{ModelCalls: 1}}), thorough(2))
	b := of(t, &w.cfg, w.limits)
	require.Equal(t, bound.Amount{Most: 2, By: []bound.Reason{{}, {Limit: "model_calls", Of: "leaf"}}}, b.ModelCalls)
	require.Equal(t, "the limit model_calls of leaf", b.ModelCalls.By[1].String())
	require.Equal(t, []bound.Frame{
		{Strategy: "main", Table: true, Delegations: 2},
		{Strategy: "leaf", Table: true, ModelCalls: 2, ToolCalls: bound.Unbounded, Batches: 1},
	}, b.Frames)
}

// Each executor of a plan has its own limits, and the reviewer has others.
func TestOf_limitsOfExecutors(t *testing.T) {
	for limit, most := range map[int]int64{0: 1 + 2 + 2*3, 2: 1 + 2 + 2*2, 1: 1 + 2 + 2*1} {
		for _, parallel := range []int{1, 2} {
			w := composed(pre.New(pre.Config{
				Executor: "a", Executors: []string{"c"}, Reviewer: "b", MaxSteps: 2, MaxRevisions: -1, MaxRetries: -1, Parallel: parallel,
				ExecutorLimits: map[string]delegation.Limits{"c": {ModelCalls: limit}},
			}))
			require.Equal(t, most, of(t, &w.cfg, w.limits).ModelCalls.Most, "%d %d", limit, parallel)
		}
	}
}

// Where the bound of a composition is wider than its runs, and why: it never is closer.
func TestOf_gaps(t *testing.T) {
	plan := pre.Config{Executor: "leaf", MaxSteps: 2, MaxRevisions: -1, MaxRetries: -1, Evaluation: pre.EvaluateNever}
	steps := func(w *world, n int) *world { w.limits.Steps = n; return w }
	nested := over(once("a"), once("b")).agent("a", "leaf", 1).agent("b", "last", 1)
	nested.limits.ToolCalls, nested.width, nested.cfg.Strategies["last"] = 2, 2, once("t")
	kept := over(once("a"), once("t")).agent("a", "leaf", 1, func(a *machine.Agent) { a.Tools = []string{"a"} })
	kept.limits.ToolCalls, kept.width = 2, 2
	for name, test := range map[string]struct {
		w       *world
		allowed [2]int64 // model calls and steps
		reached [2]int
	}{
		// A child that needs all of its steps fails, and after that there is no further one.
		"a failed child is the last": {over(pre.New(plan), brief), [2]int64{5, 12}, [2]int{5, 11}},
		// The children of a run with few steps make fewer model calls, which the bound does not
		// see: to it, each step may be one.
		"children share a limit": {steps(over(retry.New(retry.Config{Strategy: "leaf"}), brief), 5), [2]int64{5, 5}, [2]int{2, 5}},
		// Of two tool calls one starts the agent, and the other one its agent: the bound has each
		// call start an agent, which has one left.
		"agents of agents": {nested, [2]int64{5, 10}, [2]int{3, 6}},
		// The frame of an agent ends at once if it lacks a tool that its strategy names.
		"a tool that is kept away": {kept, [2]int64{3, 6}, [2]int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			b, l := of(t, &test.w.cfg, test.w.limits), test.w.explore(t)
			allowed, reached := [2]int64{b.ModelCalls.Most, b.Steps.Most}, [2]int{l.ModelCalls, l.Steps}
			require.Equal(t, test.allowed, allowed)
			require.Equal(t, test.reached, reached)
		})
	}
}

// A strategy that may delegate to itself is bounded by the depth only.
func TestOf_recursion(t *testing.T) {
	main := retry.New(retry.Config{Strategy: "main", MaxRetries: 1})
	cfg := &machine.Config{Strategies: strategy.Set{"main": main}}
	b := of(t, cfg, delegation.Limits{Depth: 3, Steps: -1, ModelCalls: -1, ToolCalls: -1})
	depth := bound.Reason{Limit: "depth"}
	require.Equal(t, bound.Amount{Most: 3, By: []bound.Reason{depth}}, b.Depth)
	require.Equal(t, bound.Amount{Most: 2 + 4 + 8, By: []bound.Reason{{}, depth}}, b.Steps)
	require.Zero(t, b.ModelCalls.Most)

	for name, l := range map[string]delegation.Limits{"off": {Depth: -1}, "deep": {Depth: 1000}} {
		l.Steps, l.ModelCalls, l.ToolCalls = -1, -1, -1
		b = of(t, cfg, l)
		require.Equal(t, bound.Amount{Most: bound.Unbounded}, b.Steps, name)
		require.EqualValues(t, l.Depth, b.Depth.Most, name)
	}
	b = of(t, cfg, delegation.Limits{Depth: -1, Steps: 70})
	require.Equal(t, bound.Amount{Most: 70, By: []bound.Reason{{Limit: "steps"}}}, b.Steps)
}

// untabled is a strategy without a table.
type untabled struct{ strategy.Strategy }

// Of what nothing is known of, the limits are the bound: a strategy without a table, a remote.
func TestOf_unknown(t *testing.T) {
	plain := func() strategy.Strategy { return untabled{completetask.New(completetask.Config{})()} }
	far := retry.New(retry.Config{Strategy: "far", Limits: delegation.Limits{ModelCalls: 5, Depth: 2}})
	for name, cfg := range map[string]*machine.Config{
		"no table": {Strategies: strategy.Set{"main": plain}, Tools: oneTool},
		"remote":   {Strategies: strategy.Set{"main": retry.New(retry.Config{Strategy: "far"})}, Remote: []string{"far"}},
	} {
		b := of(t, cfg, delegation.Limits{})
		require.Equal(t, bound.Amount{Most: 500, By: []bound.Reason{{Limit: "model_calls"}}}, b.ModelCalls, name)
		require.Equal(t, bound.Amount{Most: 2000, By: []bound.Reason{{Limit: "tool_calls"}}}, b.ToolCalls, name)
		require.Equal(t, bound.Amount{Most: 1000, By: []bound.Reason{{Limit: "steps"}}}, b.Steps, name)
		require.Equal(t, bound.Amount{Most: 16, By: []bound.Reason{{Limit: "depth"}}}, b.Depth, name)
		require.EqualValues(t, bound.Unbounded, of(t, cfg, off).ModelCalls.Most, name)
		require.Equal(t, name == "remote", b.Frames[0].Table)
	}
	b := of(t, &machine.Config{Strategies: strategy.Set{"main": far}, Remote: []string{"far"}}, off)
	require.EqualValues(t, 15, b.ModelCalls.Most)
	require.EqualValues(t, 3, b.Depth.Most)

	_, err := bound.Of(&machine.Config{Strategies: strategy.Set{"main": far}}, machine.Started{Strategy: "nobody"}, bound.Options{})
	require.ErrorContains(t, err, `no strategy "nobody"`)
	b = of(t, &machine.Config{Strategies: strategy.Set{"main": far}}, off)
	require.EqualValues(t, 3, b.Steps.Most, "delegations to nobody")
	require.EqualValues(t, 1, b.Depth.Most)
}

// Tokens and cost follow from what a call may use, from a limit, or from both.
func TestOf_tokens(t *testing.T) {
	cfg := &machine.Config{Strategies: strategy.Set{"main": completetask.New(completetask.Config{MaxModelCalls: 7})}, Tools: oneTool}
	agents := &machine.Config{Strategies: cfg.Strategies, Tools: oneTool, Agents: map[string]*machine.Agent{"t": {Strategy: "main"}}, Parallel: 4}
	call := messages.Usage{Input: 1000, Output: 200}
	prices := []llmclient.Price{{Input: 1, Output: 2}, {Input: 2, CachedInput: 3, Output: 10}}
	get := func(cfg *machine.Config, l delegation.Limits, o bound.Options) bound.Bound {
		b, err := bound.Of(cfg, machine.Started{Strategy: "main", Limits: l}, o)
		require.NoError(t, err)
		return b
	}
	tables := []bound.Reason{{}}

	b := get(cfg, delegation.Limits{}, bound.Options{})
	require.EqualValues(t, 10, b.ModelCalls.Most)
	require.Equal(t, bound.Amount{Most: bound.Unbounded}, b.TotalTokens)
	require.Equal(t, bound.Amount{Most: bound.Unbounded}, b.Cost)

	b = get(cfg, delegation.Limits{TotalTokens: 5000, Cost: messages.Dollar}, bound.Options{})
	require.Equal(t, bound.Amount{Most: 4999, Above: 1, By: []bound.Reason{{Limit: "total_tokens"}}}, b.TotalTokens)
	require.Equal(t, bound.Amount{Most: 999_999, Above: 1, By: []bound.Reason{{Limit: "cost"}}}, b.Cost)
	require.Equal(t, bound.Amount{Most: bound.Unbounded}, b.OutputTokens)
	require.Equal(t, 4, get(agents, delegation.Limits{TotalTokens: 5000}, bound.Options{}).TotalTokens.Above)

	b = get(cfg, delegation.Limits{}, bound.Options{Call: call, Prices: prices})
	require.Equal(t, bound.Amount{Most: 10_000, By: tables}, b.InputTokens)
	require.Equal(t, bound.Amount{Most: 2_000, By: tables}, b.OutputTokens)
	require.Equal(t, bound.Amount{Most: 12_000, By: tables}, b.TotalTokens)
	require.Equal(t, bound.Amount{Most: 10 * (3000 + 2000), By: tables}, b.Cost)

	b = get(cfg, delegation.Limits{}, bound.Options{Call: messages.Usage{Input: 1000}, Prices: prices})
	require.Equal(t, bound.Amount{Most: 10_000, By: tables}, b.InputTokens)
	require.Equal(t, bound.Amount{Most: bound.Unbounded}, b.Cost, "nobody knows how long a reply is")

	limited := delegation.Limits{InputTokens: 2500, Cost: 50_000}
	b = get(cfg, limited, bound.Options{Call: call, Prices: prices})
	require.Equal(t, bound.Amount{Most: 2499 + 1000, By: []bound.Reason{{Limit: "input_tokens"}}}, b.InputTokens)
	require.Equal(t, bound.Amount{Most: 50_000, By: tables}, b.Cost, "each call is as dear as the dearest")
	limited.InputTokens, limited.Cost = 0, 12_000
	b = get(cfg, limited, bound.Options{Call: call, Prices: prices})
	require.Equal(t, bound.Amount{Most: 11_999 + 5_000, By: []bound.Reason{{Limit: "cost"}}}, b.Cost)

	quiet := &machine.Config{Strategies: strategy.Set{"main": retry.New(retry.Config{Strategy: "main"})}}
	require.Equal(t, bound.Amount{By: []bound.Reason{{}, {Limit: "depth"}}}, get(quiet, delegation.Limits{Depth: 2}, bound.Options{}).Cost, "no model is asked")
}
