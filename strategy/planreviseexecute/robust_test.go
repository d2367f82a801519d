package planreviseexecute_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// What a Config brings may go wrong; what was reached is not lost for it.
func TestConfigFunctionsPanic(t *testing.T) {
	planner := model(func(asked, wanted string) (string, string, string) {
		if wanted == pre.SubmitPlan {
			return wanted, plan("A", "B"), ""
		}
		return "", "", "ok"
	})
	for want, cfg := range map[string]pre.Config{
		"Judge panicked with a string":   {Evaluation: pre.EvaluateByFunc, Judge: func(pre.Plan) pre.Verdict { panic("secret") }},
		"Share panicked with a string":   {Evaluation: pre.EvaluateNever, Share: func(messages.History) messages.History { panic("secret") }},
		"prompt Step":                    {Evaluation: pre.EvaluateNever, Prompts: pre.Prompts{Step: `{{if eq .Step.Goal "A"}}{{index .Results 9}}{{end}}x`}},
		"the prompt Step came out empty": {Evaluation: pre.EvaluateNever, Prompts: pre.Prompts{Step: `{{if .Feedback}}x{{end}}`}},
		"":                               {Evaluation: pre.EvaluateByFunc, Judge: func(p pre.Plan) pre.Verdict { p.Steps[0].Goal = "spoilt"; return pre.Verdict{Approved: true} }},
	} {
		t.Run(want, func(t *testing.T) {
			set := strategy.Set{"complete-task": completetask.New(completetask.Config{}), "plan": pre.New(cfg)}
			res, err := run(t, planner, set, "plan", delegation.Limits{})
			if want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want)
				require.NotContains(t, err.Error(), "secret")
			}
			p := planOf(t, res.Output)
			require.Len(t, p.Steps, 2)
			require.Equal(t, "A", p.Steps[0].Goal)
		})
	}
}

// A plan of any size is refused at once, and in few words.
func TestHugePlan(t *testing.T) {
	calls := 0
	client := counted(func(_, wanted string) (string, string, string) {
		return wanted, `{"steps":["x"` + strings.Repeat(`,"x"`, 90_000) + `]}`, ""
	}, &calls)
	set := strategy.Set{"complete-task": completetask.New(completetask.Config{}), "plan": pre.New(pre.Config{})}
	res, err := run(t, client, set, "plan", delegation.Limits{})
	require.ErrorContains(t, err, "did not submit a plan")
	for _, o := range res.Output.ToolMetas() {
		require.Equal(t, "the plan cannot be used: it has 90001 steps, and 20 are allowed", o.Output)
	}
}

// A step keeps its count over revisions, and one that is done is not done again under another id.
func TestRevisionsRemember(t *testing.T) {
	tries := 0
	client := model(func(asked, wanted string) (string, string, string) {
		switch {
		case wanted == pre.SubmitPlan && tries == 0:
			return wanted, `{"steps":[{"id":"a","goal":"A"},{"id":"b","goal":"B"}]}`, ""
		case wanted == pre.SubmitPlan && tries == 1:
			tries++
			return wanted, `{"steps":[{"id":"a2","goal":"A"},{"id":"b","goal":"B"}]}`, ""
		case wanted == pre.SubmitPlan:
			return wanted, `{"steps":[{"id":" b ","goal":"B","depends_on":[" a "]}]}`, ""
		case strings.HasPrefix(asked, "B") && tries == 0:
			tries++
			return "", "", ""
		default:
			return "", "", "ok"
		}
	})
	set := strategy.Set{"complete-task": completetask.New(completetask.Config{}), "plan": pre.New(pre.Config{Evaluation: pre.EvaluateNever})}
	res, err := run(t, client, set, "plan", delegation.Limits{})
	require.NoError(t, err)
	p := planOf(t, res.Output)
	require.Len(t, p.Steps, 2)
	require.Equal(t, 1, p.Steps[0].Attempts)
	require.Equal(t, 2, p.Steps[1].Attempts)
	refused := false
	for _, o := range res.Output.ToolMetas() {
		refused = refused || strings.Contains(o.Output, `step "a2" is done, as "a"`)
	}
	require.True(t, refused)
}
