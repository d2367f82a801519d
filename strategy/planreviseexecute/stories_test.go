package planreviseexecute_test

import (
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategytest"
)

// set holds the configurations that the stories name.
var set = strategy.Set{
	"complete-task":             completetask.New(completetask.Config{}),
	"plan-revise-execute":       pre.New(pre.Config{}),
	"one-revision":              pre.New(pre.Config{MaxRevisions: 1}),
	"no-revision":               pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxRevisions: -1}),
	"without-evaluation":        pre.New(pre.Config{Evaluation: pre.EvaluateNever}),
	"many-retries":              pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxRetries: 10}),
	"accepts-prose":             pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxRetries: 1, AcceptProse: true}),
	"prose-at-once":             pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxRetries: -1, AcceptProse: true, MaxSteps: 2}),
	"two-steps":                 pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxSteps: 2}),
	"two-steps-refused":         pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxSteps: 2, OnTooLong: pre.TooLongRefuse}),
	"accepts-empty-steps":       pre.New(pre.Config{Evaluation: pre.EvaluateNever, OnEmpty: pre.EmptyAccept}),
	"dependencies-only":         pre.New(pre.Config{Evaluation: pre.EvaluateNever, Results: pre.ResultsOfDependencies}),
	"plan-of-two":               pre.New(pre.Config{Evaluation: pre.EvaluateNever, AcceptProse: true, Answer: pre.AnswerSynthesize, MaxSteps: 2}),
	"plan-and-execute":          pre.New(pre.Config{Evaluation: pre.EvaluateNever, AcceptProse: true, Answer: pre.AnswerSynthesize}),
	"all-results-and-synthesis": pre.New(pre.Config{Evaluation: pre.EvaluateNever, Results: pre.ResultsOfAll, MaxResult: 20, Answer: pre.AnswerSynthesize}),
	"recursive":                 pre.New(pre.Config{Evaluation: pre.EvaluateNever, MaxRevisions: 1, Executors: []string{"recursive"}}),
	"together":                  pre.New(pre.Config{Evaluation: pre.EvaluateNever, Parallel: 2}),
	"together-judged":           pre.New(pre.Config{Parallel: 3}),
	"together-in-prose":         pre.New(pre.Config{Evaluation: pre.EvaluateNever, Parallel: 3, AcceptProse: true, MaxRevisions: 1, Answer: pre.AnswerSynthesize}),
	"together-once":             pre.New(pre.Config{Evaluation: pre.EvaluateNever, Parallel: 3, MaxRevisions: -1}),
	"together-if-safe":          pre.New(pre.Config{Evaluation: pre.EvaluateNever, Parallel: -1}),
	"reviewed":                  pre.New(pre.Config{Reviewer: "critic", StepTools: []string{}}),
	"reviewed-together":         pre.New(pre.Config{Reviewer: "critic", AcceptProse: true, Parallel: 2}),
	"critic":                    completetask.New(completetask.Config{System: "You judge plans."}),
	"plans-together":            pre.New(pre.Config{Evaluation: pre.EvaluateNever, Parallel: 2, Executors: []string{"together"}}),
	"prose-judged":              pre.New(pre.Config{AcceptProse: true}),
	"prose-judged-by-func": pre.New(pre.Config{AcceptProse: true, MaxRevisions: 3, Evaluation: pre.EvaluateByFunc, Judge: func(p pre.Plan) pre.Verdict {
		return pre.Verdict{Approved: len(p.Steps) > 2, Feedback: "too few steps"}
	}}),
	"judged-by-func-once": pre.New(pre.Config{MaxRevisions: 1, Evaluation: pre.EvaluateByFunc, Judge: func(pre.Plan) pre.Verdict {
		return pre.Verdict{Feedback: "no plan is good enough"}
	}}),
	"judged-by-func": pre.New(pre.Config{Evaluation: pre.EvaluateByFunc, Judge: func(p pre.Plan) pre.Verdict {
		if len(p.Steps) < 2 {
			return pre.Verdict{Feedback: "one step is no plan"}
		}
		return pre.Verdict{Approved: true}
	}}),
}

// The stories take every transition of the table.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, "../../testdata/stories/planreviseexecute", set), 1, pre.Table)
}

func calling(name, args string) llmclient.Response {
	return llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
		messages.ToolCall{ID: "c", Name: name, Arguments: args},
	}}}
}

func TestConform(t *testing.T) {
	for i, name := range []string{"plan-revise-execute", "accepts-prose", "all-results-and-synthesis", "judged-by-func"} {
		if !prove.OneIn(2, i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Conform(t, strategytest.Subject{
				New:      set[name],
				Input:    delegation.Input{Goal: "a task"},
				Children: []string{"complete-task", "recursive"},
				Steps:    prove.DepthOr(1, 3),
				Replies: []llmclient.Response{
					calling(pre.SubmitPlan, `{"steps":["A","B"]}`),
					calling(pre.SubmitEvaluation, `{"approved":true}`),
					calling(pre.SubmitEvaluation, `{"approved":false,"feedback":"no"}`),
				},
			})
		})
	}
}
