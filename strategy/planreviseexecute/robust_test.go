package planreviseexecute_test

import (
	"context"
	"strings"
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
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// If a function of the Config fails, the work done so far is not lost.
func TestConfigFunctionsPanic(t *testing.T) {
	planner := model(func(asked, wanted string) (string, string, string) {
		if wanted == pre.SubmitPlan {
			return wanted, plan("A", "B"), ""
		}
		return "", "", "ok"
	})
	for want, cfg := range map[string]pre.Config{
		"Judge panicked with a string": {Evaluation: pre.EvaluateByFunc, Judge: func(pre.Plan) pre.Verdict { panic("secret") }},
		"Share panicked with a string": {Evaluation: pre.EvaluateNever, Share: func(messages.History) messages.History { panic("secret") }},
		"prompt Step":                  {Evaluation: pre.EvaluateNever, Prompts: pre.Prompts{Step: `{{if eq .Step.Goal "A"}}{{index .Results 9}}{{end}}x`}},
		"the prompt Step is empty":     {Evaluation: pre.EvaluateNever, Prompts: pre.Prompts{Step: `{{if .Feedback}}x{{end}}`}},
		"":                             {Evaluation: pre.EvaluateByFunc, Judge: func(p pre.Plan) pre.Verdict { p.Steps[0].Goal = "spoilt"; return pre.Verdict{Approved: true} }},
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

// A step keeps its count over revisions, and a done step is not repeated under another id.
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

// A plan that a middleware changed is carried out in its changed form, and the model sees this form
// from then on.
func TestEditedPlan(t *testing.T) {
	edit := func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			if e.Call.Name == pre.SubmitPlan {
				e.Call.Arguments = plan("edited")
			}
			return next(ctx, e)
		}
	}
	client := scripted.New(
		scripted.Calls(scripted.Call(pre.SubmitPlan, plan("original"), "")),
		scripted.Calls(scripted.Call(pre.SubmitEvaluation, `{"approved":true}`, "")),
		scripted.Text("done"),
	)
	o, err := orchestrator.New(orchestrator.Config{
		Client: client, Default: "plan", Middleware: []orchestrator.Middleware{edit},
		Strategies: strategy.Set{"plan": pre.New(pre.Config{}), "complete-task": completetask.New(completetask.Config{})},
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "G"}})
	require.NoError(t, err)
	require.Equal(t, "edited", planOf(t, res.Output).Steps[0].Goal)
	require.Equal(t, messages.UserText("edited"), client.Requests()[2].Messages.Last())
	for _, h := range []messages.History{client.Requests()[1].Messages, res.Output.Messages} {
		require.JSONEq(t, plan("edited"), h[1].(messages.Assistant).Calls()[0].Arguments)
	}
}

// Every text for a model is a prompt of the Config.
func TestPrompts(t *testing.T) {
	st := pre.New(pre.Config{Evaluation: pre.EvaluateNever, Answer: pre.AnswerSynthesize, OnEmpty: pre.EmptyAccept, MaxResult: 3, Prompts: pre.Prompts{
		Received: "got {{.Tool}}", Unread: "bad {{.Tool}}: {{.Feedback}}", CutCall: "cut {{.Tool}}", Withheld: "withheld {{.Tool}}",
		NotRun: "no {{.Tool}} for {{.Goal}}", NoResult: "nothing for {{.Step.Goal}}", CutResult: "[more]",
		Synthesize: "{{range .Results}}{{.Text}}; {{end}}",
	}})()
	for _, tool := range st.(strategy.ToolProvider).Tools() {
		args := map[string]string{pre.SubmitPlan: plan("A"), pre.SubmitEvaluation: `{"approved":true}`}[tool.Definition().Name]
		text, err := tool.Call(t.Context(), args)
		require.NoError(t, err)
		require.Equal(t, "got "+tool.Definition().Name, text)
	}
	said := func(step nextstep.NextStep, n int) string {
		h := step.(nextstep.GetChatCompletion).Request.Messages
		switch m := h[len(h)-n].(type) {
		case messages.Tool:
			return m.Output
		default:
			return m.(messages.User).Text()
		}
	}
	st.Initialize(delegation.Input{Goal: "G"})
	cut := calling(pre.SubmitPlan, `{"steps"`)
	cut.Finish = llmclient.FinishLength
	require.Equal(t, "cut submit_plan", said(st.ProcessAPIResponse(cut), 2))
	st.ProcessAPIResponse(calling(pre.SubmitPlan, `{"steps":7}`))
	elsewhere := []messages.ToolOutput{{CallID: "c", Status: messages.StatusOK, Output: "run elsewhere"}}
	require.Contains(t, said(st.ProcessToolResults(elsewhere), 1), "bad submit_plan: ")
	st.ProcessAPIResponse(calling(pre.SubmitPlan, plan("A", "B")))
	st.ProcessToolResults(elsewhere)
	long := "a long result"
	st.ProcessDelegationResult(delegation.Output{Result: &long})
	require.Equal(t, "a l\n[more]; nothing for B;", said(st.ProcessDelegationResult(delegation.Output{}), 1))
	end := st.ProcessAPIResponse(calling("look", "{}")).(nextstep.ReportError).Output.Messages
	require.Equal(t, "no look for G", end.Last().(messages.Tool).Output)

	st = pre.New(pre.Config{Prompts: pre.Prompts{Withheld: "withheld {{.Tool}}"}})()
	st.Initialize(delegation.Input{Goal: "G"})
	withheld := calling(pre.SubmitPlan, "{}")
	withheld.Finish = llmclient.FinishContentFilter
	require.Equal(t, "withheld submit_plan", st.ProcessAPIResponse(withheld).(nextstep.ReportError).Output.Messages.Last().(messages.Tool).Output)
}

// A step with an unknown strategy is not planned again: the next plan would fail in the same way.
func TestNotPlannedAnew_unknownStrategy(t *testing.T) {
	delegates := func() strategy.Strategy { return delegator{} }
	for name, executor := range map[string]func() strategy.Strategy{"missing itself": nil, "missing below": delegates} {
		strategies := strategy.Set{"plan": pre.New(pre.Config{Evaluation: pre.EvaluateNever, Executor: "works"})}
		if executor != nil {
			strategies["works"] = executor
		}
		m := machine.New(&machine.Config{Strategies: strategies})
		require.NoError(t, m.Apply(machine.Started{Run: "r", Strategy: "plan", Input: delegation.Input{Goal: "go"}}), name)
		for i, answer := range []nextstep.Answer{
			nextstep.APIResponse{Response: new(calling(pre.SubmitPlan, `{"steps":["A"]}`))},
			nextstep.ToolResult{Output: messages.ToolOutput{CallID: "c", ToolName: pre.SubmitPlan, Output: "ok"}},
		} {
			open := m.Open()
			require.Len(t, open, 1, "%s %d", name, i)
			require.NoError(t, m.Apply(open[0].Answered(answer, m.Now(), 0)), "%s %d", name, i)
		}
		require.True(t, m.Done(), name)
		out := m.Output()
		require.ErrorContains(t, out.Err, "no strategy", name)
		require.Equal(t, 1, out.Counts.ModelCalls, name)
		require.Contains(t, string(out.Metadata["plan"]), `"status":"failed"`, name)
	}
}

// delegator delegates to an unknown strategy.
type delegator struct{ strategy.Defaults }

func (delegator) Initialize(delegation.Input) nextstep.NextStep {
	return nextstep.Delegate{Strategy: "nobody"}
}

// After a call that cannot be read, the model is told what is wrong with it; after words, that it
// should call.
func TestRemind_whatWasWrong(t *testing.T) {
	last := func(step nextstep.NextStep) string {
		return step.(nextstep.GetChatCompletion).Request.Messages.Last().(messages.User).Text()
	}
	st := pre.New(pre.Config{MaxRetries: 2})()
	st.Initialize(delegation.Input{Goal: "G"})
	said := last(st.(strategy.FailureHandler).ProcessFailure(nextstep.Failure{Code: delegation.Code(llmclient.CodeMalformedToolCall), Message: "a comma is missing"}))
	require.Equal(t, "The call of submit_plan cannot be read: a comma is missing. Correct it and try again.", said)
	require.Equal(t, "Do not answer in words: call submit_plan.", last(st.ProcessAPIResponse(llmclient.Response{Message: messages.AssistantText("Hello.")})))
}

// A model that never judges the plan, be it in words or by calls that cannot be used, ends the run.
func TestNeverJudges(t *testing.T) {
	set := strategy.Set{"complete-task": completetask.New(completetask.Config{}), "plan": pre.New(pre.Config{})}
	for want, judgement := range map[string]string{"did not judge the plan": "", "did not submit a judgement that can be used": `{"approved":1}`} {
		_, err := run(t, model(func(_, wanted string) (string, string, string) {
			switch {
			case wanted == pre.SubmitPlan:
				return wanted, plan("A"), ""
			case judgement == "":
				return "", "", "words"
			default:
				return wanted, judgement, ""
			}
		}), set, "plan", delegation.Limits{})
		require.ErrorContains(t, err, want)
	}
}

// A null in the place of what a judgement or a step need not have counts as left out.
func TestTools_nullIsLeftOut(t *testing.T) {
	own := pre.New(pre.Config{})().(strategy.ToolProvider).Tools()
	for i, arguments := range []string{`{"steps":[{"goal":"A","id":null,"depends_on":null}]}`, `{"approved":true,"feedback":null}`} {
		_, err := own[i].Call(t.Context(), arguments)
		require.NoError(t, err)
	}
	_, err := own[1].Call(t.Context(), `{"approved":null}`)
	require.ErrorContains(t, err, "/approved: got null")
}
