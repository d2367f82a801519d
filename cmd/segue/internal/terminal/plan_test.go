package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/terminal/terminaltest"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"

	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// TestDescribeCall tells plans and judgements in words, and what is none as it stands.
func TestDescribeCall(t *testing.T) {
	for name, tt := range map[string]struct {
		tool      string
		arguments string
		want      []Line
	}{
		"plan": {
			pre.SubmitPlan, `{"steps":[{"id":"a","goal":"Do\na"},{"id":"b","goal":"Do b","depends_on":["a","z"],"executor":"x"},"Do c"]}`,
			[]Line{
				{Plain, "  [0.1 #2] submit_plan: 3 steps"},
				{Plain, "      a: Do a"},
				{Plain, "      b: Do b (after a, z; by x)"},
				{Plain, "      Do c"},
			},
		},
		"plan of a model that plays with the terminal": {
			pre.SubmitPlan, `{"steps":[{"id":"\u001b[2J","goal":"\u202ea","depends_on":["\n"],"executor":"\u0007","status":"\u001b[2J","error":{"code":"\u001b"}}]}`,
			[]Line{{Plain, "  [0.1 #2] submit_plan: 1 step"}, {Plain, "      [2J: a (after ; by)"}},
		},
		"plan of steps that wait for none": {
			pre.SubmitPlan, `{"steps":[{"id":"a","goal":"Do a","depends_on":[]}]}`,
			[]Line{{Plain, "  [0.1 #2] submit_plan: 1 step"}, {Plain, "      a: Do a (after none)"}},
		},
		"a step beside others":    {pre.ExecuteStep, `{"step":"b","goal":"Do b\n\nResults of earlier steps:\n- a"}`, []Line{{Plain, "  [0.1 #2] step b: Do b (+2 lines)"}}},
		"a step of a second kind": {"execute_step_2", `{"step":"b","goal":"Do b"}`, []Line{{Plain, "  [0.1 #2] step b: Do b"}}},
		"a tool with such a name": {"execute_steps", `{"step":"b","goal":"Do b"}`, []Line{{Plain, `  [0.1 #2] execute_steps {"step":"b","goal":"Do b"}`}}},
		"a call of a model's own": {pre.ExecuteStep, `{}`, []Line{{Plain, `  [0.1 #2] execute_step {}`}}},
		"no steps":                {pre.SubmitPlan, `{"steps":[]}`, []Line{{Plain, `  [0.1 #2] submit_plan {"steps":[]}`}}},
		"no plan":                 {pre.SubmitPlan, `{"steps":`, []Line{{Plain, `  [0.1 #2] submit_plan {"steps":`}}},
		"approved":                {pre.SubmitEvaluation, `{"approved":true}`, []Line{{Good, "  [0.1 #2] submit_evaluation: approved"}}},
		"approved, and said":      {pre.SubmitEvaluation, `{"approved":true,"feedback":"ok"}`, []Line{{Good, "  [0.1 #2] submit_evaluation: approved: ok"}}},
		"rejected":                {pre.SubmitEvaluation, `{"approved":false,"feedback":"b\nis missing"}`, []Line{{Warn, "  [0.1 #2] submit_evaluation: rejected: b is missing"}}},
		"no judgement":            {pre.SubmitEvaluation, `{"feedback":"well"}`, []Line{{Plain, `  [0.1 #2] submit_evaluation {"feedback":"well"}`}}},
		"a tool of the run's":     {"read_file", `{"path":"a"}`, []Line{{Plain, `  [0.1 #2] read_file {"path":"a"}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			call := messages.ToolCall{ID: "c1", Name: tt.tool, Arguments: tt.arguments}
			require.Equal(t, tt.want, describe(happening{Event: terminaltest.Event("0.1", 2, "", machine.ToolStarted{Call: call})}, partialReply{}, false))
		})
	}
}

// TestDescribeRun tells how far the plan came, if everything is shown.
func TestDescribeRun(t *testing.T) {
	plan := pre.Plan{Steps: []pre.Step{
		{ID: "a", Goal: "Do a", Status: pre.StepDone},
		{ID: "b", Goal: "Do b", DependsOn: []string{"a"}, Status: pre.StepFailed, Err: &delegation.Error{Code: "limit", Message: "m"}},
		{ID: "c", Goal: "Do c"},
	}}
	run := machine.RunFinished{Status: machine.StatusFailed}
	require.NoError(t, run.Output.Metadata.Set("plan", plan))
	e := terminaltest.Event("0", 9, "", run)
	require.Equal(t, []Line{{Bad, "run r failed"}}, describe(happening{Event: e}, partialReply{}, false))
	require.Equal(t, []Line{
		{Plain, "[0 #9] plan: 3 steps"},
		{Good, "    a done: Do a"},
		{Bad, "    b failed (limit): Do b (after a)"},
		{Plain, "    c: Do c"},
		{Bad, "run r failed"},
	}, describe(happening{Event: e}, partialReply{}, true))

	require.NoError(t, run.Output.Metadata.Set("plan", "of another kind"))
	require.Equal(t, []Line{{Bad, "run r failed"}}, describe(happening{Event: terminaltest.Event("0", 9, "", run)}, partialReply{}, true))
}

// TestDescribeResult_ofASteps leaves the result of a step to its frame, and says what became of a
// step that has none.
func TestDescribeResult_ofASteps(t *testing.T) {
	of := func(out messages.ToolOutput) []Line {
		out.ToolName = pre.ExecuteStep
		return describe(happening{Event: terminaltest.Event("0", 2, "", machine.ToolFinished{Output: out})}, partialReply{}, false)
	}
	require.Empty(t, of(messages.ToolOutput{Output: "done"}))
	require.Empty(t, of(messages.ToolOutput{Status: messages.StatusFailed, Reason: "error", Output: "machine: agent"}))
	require.NotEmpty(t, of(messages.ToolOutput{Status: messages.StatusFailed, Reason: "refused", Output: "a person refused this call"}))
}
