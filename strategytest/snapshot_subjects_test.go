package strategytest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/tools"
)

// rememberer is a strategy with the fields of its memory.
type rememberer struct {
	fields   []string
	subjects []guided
}

// guided is a subject with answers to its requests and delegations, which lead far into a run. All
// tools succeed.
type guided struct {
	Subject
	lead []answer
}

func says(text string) llmclient.Response {
	return llmclient.Response{Message: messages.AssistantText(text), Finish: llmclient.FinishStop}
}

func asks(name, arguments string) llmclient.Response {
	return llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
		messages.Text{Text: "so"}, messages.ToolCall{ID: "c", Name: name, Arguments: arguments},
	}}}
}

func refuses(field string) nextstep.Failure {
	return nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(llmclient.CodeBadRequest), Message: field + " is not supported"}
}

// repaired is an input whose messages must be repaired, and that contains a tool result.
var repaired = delegation.Input{
	Goal: "a task",
	Data: json.RawMessage(`{"data_sources":["a"],"user":"<u>"}`),
	Messages: messages.History{
		messages.UserText("hello"),
		messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "call_1", Name: "look", Arguments: "{}"}}},
		messages.AssistantText("hi"),
	},
}

var city = &llmclient.Schema{Name: "city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}

// counts is the State of a step agent.
type counts struct {
	Steps int `json:"steps"`
}

// careful is a step that uses all that a step agent remembers.
func careful(step stepagent.Step) stepagent.StepResult {
	seen := step.State.(*counts)
	seen.Steps++
	if seen.Steps%2 == 0 {
		step.Note("even")
	}
	return stepagent.Ask(llmclient.Request{Tools: step.Tools, MaxTokens: seen.Steps, Model: step.Goal + string(step.Params)}, func(resp llmclient.Response) stepagent.StepResult {
		seen.Steps++
		step.Note(resp.Message.Text())
		if calls := resp.Message.Calls(); len(calls) > 0 {
			return stepagent.ToolCalls(calls...)
		}
		return stepagent.Ask(llmclient.Request{MaxTokens: seen.Steps}, func(second llmclient.Response) stepagent.StepResult {
			if second.Message.Text() == "" {
				return stepagent.Continue(messages.AssistantText(resp.Message.Text()+" first"), messages.UserText("And?"))
			}
			return stepagent.Finish(second.Message.Text() + resp.Message.Text())
		})
	})
}

func told(replies ...llmclient.Response) []answer {
	var list []answer
	for _, r := range replies {
		list = append(list, answer{"a reply", func(*machine.Effect) nextstep.Answer { return nextstep.APIResponse{Response: &r} }})
	}
	return list
}

func rememberers() map[string]rememberer {
	look := []tools.Definition{{Name: "look", ReadOnly: true}}
	forced := llmclient.ToolChoice{Mode: llmclient.ChooseRequired}
	child, failed := outputs()[0], outputs()[3]
	cut := llmclient.Response{Message: messages.AssistantText("Final Answer: 4"), Finish: llmclient.FinishLength}
	twoLooks := llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call(0, "look", `{}`), call(1, "look", `{}`)}}}
	twoAnswers := llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{call(0, "final", `{"city":"a"}`), call(1, "final", `{"city":"b"}`)}}}
	plan, approve := asks(planreviseexecute.SubmitPlan, `{"steps":["A","B"]}`), asks(planreviseexecute.SubmitEvaluation, `{"approved":true}`)
	decide, observe := asks(reasonactobserve.DecideNext, `{"finish":false}`), asks(reasonactobserve.ObserveDecide, `{"should_continue":true}`)
	return map[string]rememberer{
		"completetask": {
			[]string{"history", "repaired", "asked", "acted", "unforced", "answer_tool", "pieces", "refused", "finish", "dropped"},
			[]guided{{Subject: Subject{
				New:   completetask.New(completetask.Config{Schema: city, ToolChoice: forced, OnLength: completetask.LengthContinue, OnEmpty: completetask.EmptyAsk}),
				Tools: look, Failures: []nextstep.Failure{refuses("tool_choice"), refuses("response_format")},
			}}, {
				Subject: Subject{New: completetask.New(completetask.Config{Schema: city, Answer: completetask.AnswerTool}), Tools: look},
				lead:    told(twoAnswers),
			}},
		},
		"react": {
			[]string{"text", "history", "repaired", "steps", "used", "finish", "scrap", "part"},
			[]guided{{
				Subject: Subject{New: react.New(react.Config{}), Tools: look, Replies: []llmclient.Response{cut}},
				lead:    told(says("Thought: t\nAction: look\nAction Input: {}"), says("Action: fly\nAction Input: up"), says("Action: look\nAction Input: {}"), cut),
			}},
		},
		"reasonactobserve": {
			[]string{"consult", "goal", "history", "repaired", "step", "before", "results", "refused", "runs", "used", "unforced", "asked", "finish"},
			[]guided{{
				Subject: Subject{
					New:   reasonactobserve.New(reasonactobserve.Config{Retrieval: reasonactobserve.Retrieval{Tool: "look"}, RunAll: true, MaxRepeats: 1}),
					Tools: look, Failures: []nextstep.Failure{refuses("tool_choice")},
				},
				lead: told(decide, twoLooks, observe, decide, twoLooks, observe),
			}},
		},
		"reflection": {
			[]string{"input", "goal", "history", "repaired", "draft", "data", "scrap", "critiques"},
			[]guided{
				{Subject: Subject{New: reflection.New(reflection.Config{Generator: "child"}), Children: []string{"child"}}},
				{Subject: Subject{New: reflection.New(reflection.Config{Prompts: reflection.Prompts{Critique: "Judge what {{.Goal}} gave."}})}},
			},
		},
		"retry": {
			[]string{"input", "attempts", "earlier", "last", "last.messages", "last.parts", "last.begin", "result", "data"},
			[]guided{{
				Subject: Subject{
					New: retry.New(retry.Config{Strategy: "child", Detect: func(delegation.Output) (bool, string) { return true, "why" }}), Children: []string{"child"},
				},
				lead: []answer{child, failed},
			}},
		},
		"planreviseexecute": {
			[]string{"goal", "history", "repaired", "plan", "plan.steps", "plan.planned", "last", "scrap", "revisions", "parts"},
			[]guided{{
				Subject: Subject{New: planreviseexecute.New(planreviseexecute.Config{Executor: "child"}), Children: []string{"child"}},
				lead:    append(told(plan, approve), failed, told(plan)[0], told(approve)[0], child, child),
			}, {
				Subject: Subject{New: planreviseexecute.New(planreviseexecute.Config{Executor: "child", MaxSteps: 1, Evaluation: planreviseexecute.EvaluateNever}), Children: []string{"child"}},
				lead:    told(plan),
			}},
		},
		"stepagent": {
			[]string{"goal", "params", "history", "repaired", "state", "notes", "iteration", "asking", "asking.replies", "aligned", "last", "answer", "plan", "misplans", "failures", "reminders", "asked"},
			[]guided{{Subject: Subject{
				New: stepagent.New(stepagent.Config{
					Step: careful, NewState: func() any { return new(counts) }, PlanEvery: 1, MaxPlanFailures: 2, FinalTool: "final",
				}),
				Tools: look,
			}, lead: told(says("a plan"), says("a text"), says(""))}},
		},
	}
}

// walk shows the strategy on its way, on all short paths, and on random ones.
func (g guided) walk(look func(strategy.Strategy)) {
	g.Input, g.Steps = repaired, 1
	e := explorer{Subject: g.Subject, look: look}
	var path []answer
	for lead := g.lead; ; {
		pending := e.along(path)
		switch {
		case pending != nil && pending.Kind() == nextstep.KindExecuteTools:
			path = append(path, batches()[0])
		case pending == nil || len(lead) == 0:
			e.short()
			e.wander()
			return
		default:
			path, lead = append(path, lead[0]), lead[1:]
		}
	}
}

func fieldsOf(t *testing.T, snapshot json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(snapshot, &fields))
	return fields
}

// pathsOf returns the names of the fields of a snapshot, and of the fields of those that are
// objects.
func pathsOf(t *testing.T, snapshot json.RawMessage) []string {
	t.Helper()
	var paths []string
	for field, value := range fieldsOf(t, snapshot) {
		paths = append(paths, field)
		if value[0] != '{' {
			continue
		}
		for inner := range fieldsOf(t, value) {
			paths = append(paths, field+"."+inner)
		}
	}
	return paths
}
