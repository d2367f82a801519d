package bound_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/machine/bound"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// off are limits that bound nothing but the depth.
var off = delegation.Limits{Steps: -1, ModelCalls: -1, ToolCalls: -1}

// of returns the bound of the strategy "main" of a set.
func of(t require.TestingT, cfg *machine.Config, l delegation.Limits) bound.Bound {
	b, err := bound.Of(cfg, machine.Started{Strategy: "main", Limits: l}, bound.Options{})
	require.NoError(t, err)
	return b
}

var oneTool = []tools.Definition{{Name: "t"}}

func step(stepagent.Step) stepagent.StepResult { return stepagent.Continue() }

// The bound of each built-in strategy is the formula of its documentation, whatever its Config says.
func TestOf_isTheFormulaOfEachStrategy(t *testing.T) {
	city := &llmclient.Schema{Name: "city", Schema: []byte(`{"type":"object"}`)}
	leaf := completetask.New(completetask.Config{MaxModelCalls: 3})
	for name, test := range map[string]struct {
		main func() strategy.Strategy
		want int
	}{
		"complete-task":            {completetask.New(completetask.Config{}), 50 + 2 + 1},
		"complete-task fails":      {completetask.New(completetask.Config{OnLimit: completetask.LimitFail}), 52},
		"complete-task forced":     {completetask.New(completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}}), 54},
		"complete-task schema":     {completetask.New(completetask.Config{Schema: city}), 54},
		"complete-task once":       {completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1}), 2},
		"complete-task unbounded":  {completetask.New(completetask.Config{MaxModelCalls: -1}), -1},
		"complete-task large":      {completetask.New(completetask.Config{MaxModelCalls: 100_000, MaxRetries: 7_000}), 107_001},
		"complete-task compacts":   {completetask.New(completetask.Config{Compact: &compaction.Config{}}), 53 + 20 + 3},
		"complete-task trims":      {completetask.New(completetask.Config{Compact: &compaction.Config{How: compaction.Trim}}), 53 + 3},
		"react compacts":           {react.New(react.Config{Compact: &compaction.Config{MaxSummaries: 7}}), 14 + 7 + 3},
		"rao trims":                {rao.New(rao.Config{Compact: &compaction.Config{How: compaction.Trim}}), 42 + 3*5},
		"react":                    {react.New(react.Config{}), 10 + 3 + 1},
		"react fails":              {react.New(react.Config{OnLimit: react.LimitFail}), 13},
		"react unbounded":          {react.New(react.Config{MaxSteps: -1}), -1},
		"reason-act-observe":       {rao.New(rao.Config{}), 4*10 + 2},
		"reason-act-observe large": {rao.New(rao.Config{MaxSteps: 5000}), 20_002},
		"reflection":               {reflection.New(reflection.Config{}), 2*3 + 50 - 1 + 2},
		"reflection unbounded":     {reflection.New(reflection.Config{MaxToolRounds: -1}), -1},
		"reflection generator":     {reflection.New(reflection.Config{Generator: "leaf"}), 3 * (1 + 6)},
		"retry":                    {retry.New(retry.Config{Strategy: "leaf"}), 3 * 6},
		"plan":                     {pre.New(pre.Config{Executor: "leaf"}), 4 + 4 + 3 + 23*6},
		"plan synthesize":          {pre.New(pre.Config{Executor: "leaf", Answer: pre.AnswerSynthesize}), 4 + 4 + 3 + 1 + 23*6},
		"plan, steps together":     {pre.New(pre.Config{Executor: "leaf", Parallel: 4}), 4 + 4 + 3 + (20+3*4)*6},
		"plan, any together":       {pre.New(pre.Config{Executor: "leaf", Parallel: -1}), 4 + 4 + 3 + (20+3*20)*6},
		"plan never judged":        {pre.New(pre.Config{Executor: "leaf", Evaluation: pre.EvaluateNever}), 4 + 3 + 23*6},
		"step-agent":               {stepagent.New(stepagent.Config{Step: step}), 80},
		"step-agent plans":         {stepagent.New(stepagent.Config{Step: step, MaxIterations: 5, MaxAsks: 2, PlanEvery: 2}), 13},
		"step-agent never asks":    {stepagent.New(stepagent.Config{Step: step, MaxAsks: -1, PlanEvery: 1}), 10},
		"step-agent large":         {stepagent.New(stepagent.Config{Step: step, MaxIterations: 3000, MaxAsks: 9, PlanEvery: 7}), 27_429},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &machine.Config{Strategies: strategy.Set{"main": test.main, "leaf": leaf}, Tools: oneTool}
			b := of(t, cfg, off)
			require.EqualValues(t, test.want, b.ModelCalls.Most)
			if test.want >= 0 {
				require.Equal(t, []bound.Reason{{}}, b.ModelCalls.By)
			}
		})
	}
}

// With few tools nothing is searched for, and the bound counts no search.
func TestOf_searchForTools(t *testing.T) {
	searches := func(above, tools int) bool {
		st := completetask.New(completetask.Config{Search: toolsearch.Config{Above: above}})()
		st.(strategy.ToolUser).UseTools(toolsNamed(tools))
		most, limited := st.(strategy.Bounder).Bounds().Triggers["searched"]
		return !limited || most > 0
	}
	require.False(t, searches(0, 40))
	require.True(t, searches(0, 41))
	require.False(t, searches(-1, 41))
	require.True(t, searches(2, 3))
}

func toolsNamed(n int) (all []tools.Definition) {
	for i := range n {
		all = append(all, tools.Definition{Name: fmt.Sprint("tool_", i)})
	}
	return all
}

// The table does not say that a step begins again only after a refusal, and not after any summary.
func TestOf_compactingReasonActObserve(t *testing.T) {
	cfg := rao.Config{Compact: &compaction.Config{}}
	b := of(t, &machine.Config{Strategies: strategy.Set{"main": rao.New(cfg)}, Tools: oneTool}, off)
	require.GreaterOrEqual(t, b.ModelCalls.Most, int64(42+20+3*5))
	require.LessOrEqual(t, b.ModelCalls.Most, int64(42+20+3*5+5))
}
