package bound_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/tools"
)

// agent adds an agent that opens so many branches a call, and says that there are no more.
func (w *world) agent(name, child string, branches int, edit ...func(*machine.Agent)) *world {
	a := &machine.Agent{Strategy: child, Branches: branches, Inputs: func(string) ([]delegation.Input, bool, error) {
		all := make([]delegation.Input, branches)
		for i := range all {
			all[i].Goal = fmt.Sprint("part ", i)
		}
		return all, branches > 1, nil
	}}
	for _, e := range edit {
		e(a)
	}
	if w.cfg.Agents == nil {
		w.cfg.Agents = map[string]*machine.Agent{}
	}
	w.cfg.Agents[name] = a
	w.cfg.Tools = append(w.cfg.Tools, tools.Definition{Name: name, ReadOnly: true})
	return w
}

// once asks a model once, and runs its calls.
func once(names ...string) func() strategy.Strategy {
	return completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, OnLimit: completetask.LimitFail, Tools: names})
}

// A call of an agent costs what the agent costs, for each of its branches. How many calls there are
// is a matter of the limit on tool calls, or of the strategy.
func TestOf_agents(t *testing.T) {
	single := react.New(react.Config{MaxSteps: 2, MaxRetries: -1, OnLimit: react.LimitFail, Tools: []string{"a"}})
	limit := func(w *world, l delegation.Limits) *world { w.limits, w.width = l, 3; return w }
	for name, test := range map[string]struct {
		w                           *world
		models, calls, steps, depth int64
	}{
		"a batch of agents":  {limit(over(once("a"), once("t")).agent("a", "leaf", 1), delegation.Limits{ToolCalls: 3}), 1 + 3, 3, 1 + 1 + 3*2, 2},
		"fan-out":            {limit(over(once("a"), once("t")).agent("a", "leaf", 2), delegation.Limits{ToolCalls: 2}), 1 + 2*2, 2, 1 + 1 + 4*2, 2},
		"one call in a turn": {limit(over(single, once()).agent("a", "leaf", 2, func(a *machine.Agent) { a.Tools = []string{} }), delegation.Limits{}), 2 + 2*2, 2, 4 + 4*2, 2},
		"limits of an agent": {limit(over(single, once()).agent("a", "leaf", 1, func(a *machine.Agent) { a.Limits.Steps, a.Tools = 1, []string{} }), delegation.Limits{}), 2 + 2, 2, 4 + 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b, l := of(t, &test.w.cfg, test.w.limits), test.w.explore(t)
			t.Log(b.ModelCalls, b.ToolCalls, b.Steps, b.Depth)
			require.Equal(t, []int{l.ModelCalls, l.ToolCalls, l.Steps, l.depth}, []int{int(b.ModelCalls.Most), int(b.ToolCalls.Most), int(b.Steps.Most), int(b.Depth.Most)})
			require.Equal(t, []int64{test.models, test.calls, test.steps, test.depth}, []int64{b.ModelCalls.Most, b.ToolCalls.Most, b.Steps.Most, b.Depth.Most})
		})
	}
}

// An agent that does not say how many branches it opens is bounded by the limits of the run alone.
func TestOf_agentsWithAnyBranches(t *testing.T) {
	w := over(react.New(react.Config{MaxSteps: 1, Tools: []string{"a"}}), once()).agent("a", "leaf", 3)
	w.cfg.Agents["a"].Branches = 0
	require.Equal(t, bound.Amount{Most: 500, By: []bound.Reason{{Limit: "model_calls"}}}, of(t, &w.cfg, delegation.Limits{}).ModelCalls)
	require.EqualValues(t, bound.Unbounded, of(t, &w.cfg, off).ModelCalls.Most)
}

// drawStrategy draws a strategy that may delegate to the others.
func drawStrategy(t *rapid.T, name string, others []string) func() strategy.Strategy {
	n := func(label string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name+" "+label) }
	child := rapid.SampledFrom(others).Draw(t, name+" child")
	var offered []string
	if rapid.Bool().Draw(t, name+" names tools") {
		offered = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"t", "a"}), rapid.ID[string]).Draw(t, name+" tools")
	}
	var below delegation.Limits
	if rapid.IntRange(0, 3).Draw(t, name+" limits children") == 0 {
		below = delegation.Limits{ModelCalls: n("models of children", 1, 6), Depth: n("depth of children", 1, 3)}
	}
	switch rapid.IntRange(0, 6).Draw(t, name) {
	case 0:
		policy := rapid.SampledFrom([]completetask.LimitPolicy{completetask.LimitConclude, completetask.LimitFail}).Draw(t, "on limit")
		cfg := completetask.Config{MaxModelCalls: n("calls", 1, 3), MaxRetries: n("retries", 0, 2) - 1, Tools: offered, OnLimit: policy}
		for _, to := range rapid.SliceOfNDistinct(rapid.SampledFrom(others), 0, 2, rapid.ID[string]).Draw(t, name+" hands off to") {
			cfg.Handoffs = append(cfg.Handoffs, completetask.Handoff{Strategy: to})
		}
		return completetask.New(cfg)
	case 1:
		return react.New(react.Config{MaxSteps: n("steps", 1, 3), MaxRetries: n("retries", 0, 2) - 1, Tools: offered})
	case 2:
		return rao.New(rao.Config{MaxSteps: n("steps", 1, 2), RunAll: rapid.Bool().Draw(t, "all"), NoInput: rapid.Bool().Draw(t, "no input"), Tools: offered})
	case 3:
		cfg := reflection.Config{MaxIterations: n("iterations", 1, 3), MaxToolRounds: n("rounds", 1, 2), Tools: offered, Limits: below}
		if rapid.Bool().Draw(t, "generates") {
			cfg.Generator = child
		}
		return reflection.New(cfg)
	case 4:
		return retry.New(retry.Config{Strategy: child, MaxRetries: n("retries", 0, 2) - 1, Limits: below, Tools: offered})
	case 5:
		return stepagent.New(stepagent.Config{Step: asking, MaxIterations: n("iterations", 1, 3), MaxAsks: n("asks", 1, 2), PlanEvery: n("plans", 0, 2)})
	default:
		return pre.New(pre.Config{
			Executor: child, StepLimits: below, StepTools: offered,
			MaxSteps: n("steps", 1, 3), MaxRevisions: n("revisions", 0, 2) - 1, MaxRetries: n("retries", 0, 2) - 1,
			Evaluation: rapid.SampledFrom([]pre.Evaluation{pre.EvaluateByModel, pre.EvaluateNever}).Draw(t, "evaluation"),
			Parallel:   n("at once", 0, 4) - 1,
			Answer:     rapid.SampledFrom([]pre.Answer{pre.AnswerLast, pre.AnswerSynthesize}).Draw(t, "answer"),
		})
	}
}

// No run exceeds its bound: any composition, any limits, any answers.
func TestOf_isNeverExceeded(t *testing.T) {
	prove.Checks(t, prove.Cases()/10) // since a run takes long
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"main", "p", "q"}
		w := &world{cfg: machine.Config{Strategies: strategy.Set{}, Tools: reader}, plan: 3, apart: 3, width: 2}
		for _, name := range names {
			w.cfg.Strategies[name] = drawStrategy(t, name, names)
		}
		if rapid.Bool().Draw(t, "has an agent") {
			w.agent("a", rapid.SampledFrom(names).Draw(t, "agent"), rapid.IntRange(1, 3).Draw(t, "branches"))
		}
		draw := func(label string, high int) int {
			return rapid.IntRange(0, high).Draw(t, label) * rapid.IntRange(0, 1).Draw(t, label+" is limited")
		}
		w.limits = delegation.Limits{Depth: rapid.IntRange(1, 4).Draw(t, "depth"), Handoffs: rapid.IntRange(-1, 3).Draw(t, "handoffs"), Steps: draw("steps", 30), ModelCalls: draw("models", 20), ToolCalls: draw("tools", 10)}
		b := of(t, &w.cfg, w.limits)
		r, l := w.begin(t), largest{}
		for range 150 {
			answers := r.answers()
			if len(answers) == 0 {
				break
			}
			r.answer(rapid.SampledFrom(answers).Draw(t, "answer"))
			l.take(r)
		}
		within := func(what string, n int, a bound.Amount) {
			if a.Most != bound.Unbounded && int64(n) > a.Most {
				t.Fatalf("%d %s, more than %d by %v", n, what, a.Most, a.By)
			}
		}
		within("model calls", l.ModelCalls, b.ModelCalls)
		within("tool calls", l.ToolCalls, b.ToolCalls)
		within("steps", l.Steps, b.Steps)
		within("frames", l.depth, b.Depth)
	})
}
