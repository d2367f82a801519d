package workflow_test

import (
	"strings"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/workflow"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/explore"
	"github.com/segue-go/segue/tools"
)

const goOn = workflow.FailureContinue

// loud is whether the last result is in capitals.
func loud(p workflow.Progress) bool { return p.Last != "" && p.Last == strings.ToUpper(p.Last) }

// byLanguage routes by the first word of the goal.
func byLanguage(p workflow.Progress) string {
	first, _, _ := strings.Cut(p.Goal, " ")
	return strings.ToLower(strings.TrimSuffix(first, ":"))
}

// upper gives a part the last result in capitals, as JSON.
func upper(p workflow.Progress) delegation.Input {
	return delegation.Input{Goal: strings.ToUpper(p.Last), Data: []byte(`{"path":"report"}`)}
}

// set holds the configurations that the stories name.
var set = strategy.Set{
	"planner":  completetask.New(completetask.Config{System: "You plan."}),
	"executor": completetask.New(completetask.Config{}),
	"reviewer": completetask.New(completetask.Config{}),
	"careful":  completetask.New(completetask.Config{OnEmpty: completetask.EmptyFail, MaxRetries: -1}),

	"chain": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{
		{Strategy: "planner"}, {Strategy: "executor", Retries: 1}, {Strategy: "reviewer", Fallback: "careful"},
	}}),
	"with-tools": workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{
		{Tool: "look", Prompt: `{"path":{{json .Goal}}}`, Retries: 1, Fallback: "careful"},
		{Strategy: "executor", Prompt: "Sum this up: {{.Of \"look\"}}", OnFailure: goOn},
		{Name: "save", Tool: "write", Input: upper, OnFailure: goOn},
	}}),
	"voices": workflow.Parallel(workflow.ParallelConfig{Parts: []workflow.Part{
		{Name: "first", Strategy: "executor", Retries: 1, Prompt: "1 {{.Goal}}"}, {Name: "second", Strategy: "careful", Fallback: "reviewer", Prompt: "2 {{.Goal}}"}, {Tool: "look", OnFailure: goOn},
	}}),
	"together": workflow.Parallel(workflow.ParallelConfig{
		Parts:  []workflow.Part{{Name: "first", Strategy: "executor", Retries: 2, OnFailure: goOn, Prompt: "1 {{.Goal}}"}, {Name: "second", Strategy: "careful", OnFailure: goOn, Prompt: "2 {{.Goal}}"}},
		Reduce: &workflow.Part{Strategy: "reviewer", OnFailure: goOn},
	}),
	"until-loud":  workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "executor"}, Until: loud, UntilName: "loud", MaxRounds: 2}),
	"three-times": workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "executor", OnFailure: goOn}}),
	"judged":      workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Strategy: "executor", OnFailure: goOn}, Judge: &workflow.Part{Strategy: "reviewer"}, MaxRounds: 2}),
	"judged-in-go-too": workflow.Loop(workflow.LoopConfig{
		Part: workflow.Part{Strategy: "executor"}, Until: loud, UntilName: "loud", Judge: &workflow.Part{Strategy: "reviewer", OnFailure: goOn, Retries: 1}, MaxRounds: 2,
	}),
	"routed": workflow.Choose(workflow.ChooseConfig{
		Parts:  []workflow.Part{{Name: "bills", Strategy: "executor", Description: "questions about money"}, {Name: "help-desk", Strategy: "reviewer"}},
		Router: &workflow.Part{Strategy: "planner", Retries: 1},
	}),
	"routed-anyhow": workflow.Choose(workflow.ChooseConfig{Parts: []workflow.Part{{Name: "bills", Strategy: "executor"}, {Name: "rest", Strategy: "reviewer"}}, Otherwise: "rest"}),
	"by-language": workflow.Choose(workflow.ChooseConfig{
		Parts: []workflow.Part{{Name: "english", Strategy: "executor"}, {Name: "german", Strategy: "reviewer"}}, Route: byLanguage, RouteName: "language",
	}),
	// with the tables of the examples
	"other":         completetask.New(completetask.Config{System: "You are another."}),
	"complete-task": completetask.New(completetask.Config{}),
	"sequence":      workflow.Sequence(workflow.SequenceConfig{Parts: []workflow.Part{{Name: "first", Retries: 1}, {Tool: "tool"}, {Name: "last"}}}),
	"parallel": workflow.Parallel(workflow.ParallelConfig{
		Parts:  []workflow.Part{{Name: "one", Retries: 2, Prompt: "One: {{.Goal}}{{with .Failure}} ({{.}}){{end}}"}, {Name: "two", Fallback: "other", Prompt: "Two: {{.Goal}}"}},
		Reduce: &workflow.Part{},
	}),
	"loop":   workflow.Loop(workflow.LoopConfig{Part: workflow.Part{Name: "worker"}, Judge: &workflow.Part{}}),
	"choose": workflow.Choose(workflow.ChooseConfig{Parts: []workflow.Part{{Name: "one", Description: "small things"}, {Name: "other"}}}),
}

// The stories take every transition of the tables of the examples.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, stories, set), 1, workflow.SequenceTable, workflow.ParallelTable, workflow.LoopTable, workflow.ChooseTable)
}

// The stories end in the same way however they are run.
func TestWays(t *testing.T) { strategytest.Ways(t, stories, set) }

const stories = "../../testdata/stories/workflow"

// Every composition conforms. The parts of a Parallel are run, since they are agents of its own.
func TestConform(t *testing.T) {
	in := delegation.Input{Goal: "english: a task", Messages: messages.History{messages.UserText("hello"), messages.AssistantText("hi")}}
	tools := []tools.Definition{{Name: "look", ReadOnly: true}, {Name: "write"}, {Name: "tool"}}
	for _, name := range set.Names() {
		parts, ok := set[name]().(strategy.ToolProvider)
		if !ok || strings.HasPrefix(set[name]().(strategy.Tabler).FSM().Table().Name, "complete") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(parts.Tools()) == 0 {
				strategytest.Conform(t, strategytest.Subject{
					New: set[name], Input: in, Tools: tools, Children: []string{"planner", "executor", "reviewer", "careful", "other", "complete-task"},
					Unreached: []string{"*"},
				})
				return
			}
			strategytest.Explore(t, set[name], explore.Options{Input: in, Tools: tools, Strategies: workers, Odd: 1, States: 300, Unreached: []string{"*"}})
		})
	}
}

// workers are the parts of explored compositions.
var workers = strategy.Set{"planner": worker, "executor": worker, "reviewer": worker, "careful": worker, "other": worker, "complete-task": worker}

var worker = completetask.New(completetask.Config{MaxModelCalls: 1, MaxRetries: -1, Tools: []string{}, OnLimit: completetask.LimitFail})
