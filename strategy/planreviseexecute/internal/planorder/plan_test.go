package planorder_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy/planreviseexecute/internal/planorder"
)

// Where there is only one executor, another name stands for it. Where there are several, it is
// refused.
func TestPlan_Revise_executors(t *testing.T) {
	plan := planorder.Plan{Steps: []planorder.Step{{Goal: "A", Executor: "usual"}, {Goal: "B", Executor: "get_weather"}, {Goal: "C"}}}
	p, err := planorder.Plan{}.Revise(plan, planorder.Rules{MaxSteps: 3, Executors: []string{"usual"}})
	require.NoError(t, err)
	require.Equal(t, []planorder.Step{{ID: "1", Goal: "A", Executor: "usual"}, {ID: "2", Goal: "B"}, {ID: "3", Goal: "C"}}, p.Steps)

	_, err = planorder.Plan{}.Revise(plan, planorder.Rules{MaxSteps: 3, Executors: []string{"other", "usual"}})
	require.EqualError(t, err, `the plan cannot be used: step "2" has the executor "get_weather", and allowed are ["other" "usual"]`)
}

// A step may depend on the goal of another. What is an id stands for the step with that id.
func TestPlan_Revise_goalsForIDs(t *testing.T) {
	for name, c := range map[string]struct {
		old, steps []planorder.Step
		want       [][]string // on what the steps depend
		refused    string
	}{
		"a goal":               {steps: []planorder.Step{{Goal: "A"}, {Goal: "B", DependsOn: []string{"A"}}}, want: [][]string{nil, {"1"}}},
		"a later one":          {steps: []planorder.Step{{Goal: "A", DependsOn: []string{" B "}}, {ID: "b", Goal: "B"}}, want: [][]string{{"b"}, nil}},
		"a goal and an id":     {steps: []planorder.Step{{Goal: "A"}, {Goal: "B"}, {Goal: "C", DependsOn: []string{"2", "A"}}}, want: [][]string{nil, nil, {"2", "1"}}},
		"the goal of a done":   {old: []planorder.Step{{ID: "1", Goal: "A", Status: planorder.StepDone}}, steps: []planorder.Step{{Goal: "B", DependsOn: []string{"A"}}}, want: [][]string{nil, {"1"}}},
		"an id that is a goal": {steps: []planorder.Step{{ID: "x", Goal: "A"}, {ID: "y", Goal: "x"}, {Goal: "C", DependsOn: []string{"x"}}}, want: [][]string{nil, nil, {"x"}}},
		"the first of two":     {steps: []planorder.Step{{Goal: "A"}, {Goal: "A"}, {Goal: "B", DependsOn: []string{"A"}}}, want: [][]string{nil, nil, {"1"}}},
		"neither":              {steps: []planorder.Step{{Goal: "A"}, {Goal: "B", DependsOn: []string{"a"}}}, refused: `step "2" depends on "a", which is no step`},
		"its own":              {steps: []planorder.Step{{Goal: "A", DependsOn: []string{"A"}}}, refused: "steps wait for each other: 1 -> 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := planorder.Plan{Steps: c.old}.Revise(planorder.Plan{Steps: c.steps}, planorder.Rules{MaxSteps: 5})
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			var got [][]string
			for _, s := range p.Steps {
				got = append(got, s.DependsOn)
			}
			require.Equal(t, c.want, got)
		})
	}
}
