package bound_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
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
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/tools"
)

// asking is a step that asks until it is told something, and calls what a reply calls.
func asking(stepagent.Step) stepagent.StepResult {
	var again func(resp llmclient.Response) stepagent.StepResult
	again = func(resp llmclient.Response) stepagent.StepResult {
		switch calls := resp.Message.Calls(); {
		case len(calls) > 0:
			return stepagent.ToolCalls(calls...)
		case resp.Message.Text() == "not yet":
			return stepagent.Ask(request, again)
		default:
			return stepagent.Continue()
		}
	}
	return stepagent.Ask(request, again)
}

// third chooses what needs most.
func third(workflow.Progress) string { return "c" }

var request = llmclient.Request{Tools: oneTool}

var reader = []tools.Definition{{Name: "t", ReadOnly: true}}

// alone is a world of one strategy. Its limits bound nothing of it but the tool calls.
func alone(main func() strategy.Strategy) *world {
	return &world{cfg: machine.Config{Strategies: strategy.Set{"main": main}, Tools: reader}, limits: delegation.Limits{ToolCalls: 40}, plan: 5}
}

// over is a world of two strategies, of which one delegates to the other.
func over(main, leaf func() strategy.Strategy) *world {
	w := alone(main)
	w.cfg.Strategies["leaf"] = leaf
	return w
}

// thorough may need all of its steps whether it succeeds or not.
func thorough(asks int) func() strategy.Strategy {
	return stepagent.New(stepagent.Config{Step: asking, MaxIterations: 1, MaxAsks: asks})
}

// brief fails if it needs all of its steps.
var brief = completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: -1, OnLimit: completetask.LimitFail})

// composed is a world of a composition, whose parts differ in what they need.
func composed(main func() strategy.Strategy) *world {
	w := alone(main)
	for name, asks := range map[string]int{"a": 1, "b": 2, "c": 3} {
		w.cfg.Strategies[name] = thorough(asks)
	}
	return w
}

// branches is a world of a composition of two parts at the same time.
func branches(main func() strategy.Strategy) *world {
	w := composed(main)
	w.starts = 2
	return w
}

// compositions lists worlds of package workflow.
func compositions() map[string]*world {
	return map[string]*world{
		"sequence":             composed(workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Strategy: "a", Retries: 1}, {Strategy: "b"}}})),
		"sequence, falls back": composed(workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Strategy: "b", Fallback: "a"}, {Name: "t", Tool: "t"}}})),
		"parallel":             branches(workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{{Strategy: "a", Retries: 1}, {Strategy: "b"}}})),
		"parallel, reduced":    branches(workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{{Strategy: "a"}, {Strategy: "b", Fallback: "a"}}, Reduce: &workflow.Part{Strategy: "a"}})),
		"loop":                 composed(workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "b"}, MaxRounds: 2})),
		"loop, judged":         composed(workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "a", Retries: prove.DepthOr(0, 1)}, Judge: &workflow.Part{Strategy: "b"}, MaxRounds: 2})),
		"choose":               composed(workflow.Choose(workflow.ChooseConfig{Parts: []workflow.Part{{Strategy: "a"}, {Strategy: "c"}}, Route: third, RouteName: "third"})),
		"choose, routed":       composed(workflow.Choose(workflow.ChooseConfig{Parts: []workflow.Part{{Strategy: "a"}, {Strategy: "c"}}, Router: &workflow.Part{Strategy: "a", Name: "router"}, Otherwise: "c"})),
		"choose, retries":      composed(workflow.Choose(workflow.ChooseConfig{Parts: []workflow.Part{{Strategy: "a"}, {Strategy: "c", Retries: 1}}, Router: &workflow.Part{Strategy: "b", Name: "router"}, Otherwise: "c"})),
	}
}

// reaching lists worlds whose bounds are reached, each of them.
func reaching() map[string]*world {
	thorough := thorough(prove.DepthOr(1, 2))
	city := &llmclient.Schema{Name: "s", Schema: []byte(`{"type":"object","required":["a"]}`)}
	plan := pre.Config{Executor: "leaf", MaxSteps: 2, MaxRevisions: prove.DepthOr(-1, 1), MaxRetries: prove.DepthOr(-1, 1), Answer: pre.AnswerSynthesize}
	nested := over(retry.New(retry.Config{Strategy: "leaf", MaxRetries: 1}), reflection.New(reflection.Config{Generator: "draft", MaxIterations: prove.DepthOr(1, 2)}))
	nested.cfg.Strategies["draft"] = thorough
	together := over(pre.New(pre.Config{Executor: "leaf", MaxSteps: 3, MaxRevisions: prove.DepthOr(-1, 1), MaxRetries: -1, Parallel: 2, Evaluation: pre.EvaluateNever}), thorough)
	together.apart = 3
	wide := over(pre.New(pre.Config{Executor: "leaf", MaxSteps: 2, MaxRevisions: prove.DepthOr(-1, 1), MaxRetries: prove.DepthOr(-1, 1), Parallel: 4, Answer: pre.AnswerSynthesize}), thorough)
	wide.apart = 2
	reviewed := func(parallel int) *world {
		w := composed(pre.New(pre.Config{Executor: "a", Reviewer: "b", MaxSteps: 2, MaxRevisions: prove.DepthOr(-1, 1), MaxRetries: -1, Parallel: parallel}))
		w.apart, w.cfg.Strategies["b"] = parallel, react.New(react.Config{MaxSteps: 1, MaxRetries: 1, Tools: []string{}, OnLimit: react.LimitFail})
		return w
	}
	all := compositions()
	maps.Copy(all, map[string]*world{
		"plan, steps together":     together,
		"plan, all steps together": wide,
		"complete-task":            alone(completetask.New(completetask.Config{MaxModelCalls: 2})),
		"complete-task, fails":     alone(completetask.New(completetask.Config{MaxModelCalls: 3, MaxRetries: -1, OnLimit: completetask.LimitFail})),
		"complete-task, forced":    alone(completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: 1, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}})),
		"complete-task, schema":    alone(completetask.New(completetask.Config{MaxModelCalls: 2, MaxRetries: 1, Schema: city})),
		"react":                    alone(react.New(react.Config{MaxSteps: 3, MaxRetries: 2})),
		"react, fails":             alone(react.New(react.Config{MaxSteps: 3, MaxRetries: 2, OnLimit: react.LimitFail})),
		"react, no tools":          alone(react.New(react.Config{MaxSteps: 3, MaxRetries: 2, Tools: []string{}})),
		"reason-act-observe":       alone(rao.New(rao.Config{MaxSteps: prove.DepthOr(1, 2), MaxRepeats: -1})),
		"reason-act-observe, all":  alone(rao.New(rao.Config{MaxSteps: 1, RunAll: true, NoInput: true, MaxRepeats: -1, OnLimit: rao.LimitFail})),
		"reflection":               alone(reflection.New(reflection.Config{MaxIterations: prove.DepthOr(2, 3), MaxToolRounds: prove.DepthOr(2, 3), MaxRetries: 1})),
		"step-agent":               alone(stepagent.New(stepagent.Config{Step: asking, MaxIterations: 3, MaxAsks: prove.DepthOr(1, 2), PlanEvery: 2})),
		"step-agent, once":         alone(stepagent.New(stepagent.Config{Step: asking, MaxIterations: 2, MaxAsks: 1})),
		"plan":                     over(pre.New(plan), thorough),
		"plan, unjudged":           over(pre.New(pre.Config{Executor: "leaf", MaxSteps: 2, MaxRevisions: prove.DepthOr(1, 2), MaxRetries: -1, Evaluation: pre.EvaluateNever}), thorough),
		"plan, reviewed":           reviewed(0),
		"plan, reviewed, together": reviewed(2),
		"retry":                    over(retry.New(retry.Config{Strategy: "leaf", MaxRetries: 2}), thorough),
		"generator":                over(reflection.New(reflection.Config{Generator: "leaf", MaxIterations: prove.DepthOr(2, 3)}), thorough),
		"retry of generator":       nested,
	})
	return all
}

// For each strategy, and for compositions whose parts reach their bounds together, some run reaches
// each of the bounds, and none exceeds one.
func TestOf_isReached(t *testing.T) {
	for name, w := range reaching() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, l := of(t, &w.cfg, w.limits), w.explore(t)
			t.Log(l.states, "states", b.ModelCalls, b.ToolCalls, b.Steps, b.Depth)
			require.EqualValues(t, b.ModelCalls.Most, l.ModelCalls, "model calls")
			require.EqualValues(t, b.Steps.Most, l.Steps, "steps")
			require.EqualValues(t, b.Depth.Most, l.depth, "depth")
			if b.ToolCalls.Most != 40 {
				require.EqualValues(t, b.ToolCalls.Most, l.ToolCalls, "tool calls")
				return
			}
			require.Contains(t, b.ToolCalls.By, bound.Reason{Limit: "tool_calls"})
			w.limits.ToolCalls, w.width = w.starts+prove.DepthOr(1, 2), 2
			require.EqualValues(t, w.limits.ToolCalls, of(t, &w.cfg, w.limits).ToolCalls.Most)
			require.Equal(t, w.limits.ToolCalls, w.explore(t).ToolCalls)
		})
	}
}

// One of several parts is chosen: the bound is that of the one that needs most, retries included.
func TestOf_choose(t *testing.T) {
	for retries, most := range []int64{1 + 3, 1 + 3, 1 + 3, 1 + 4} {
		w := composed(workflow.Choose(workflow.ChooseConfig{Parts: []workflow.Part{{Strategy: "a", Retries: retries}, {Strategy: "c"}}, Router: &workflow.Part{Strategy: "a", Name: "router"}}))
		require.Equal(t, most, of(t, &w.cfg, w.limits).ModelCalls.Most, retries)
	}
}
