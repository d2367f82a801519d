package stepagent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/stepagent"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

// loop asks with all tools, runs the calls, and finishes with a text.
func loop(step stepagent.Step) stepagent.StepResult {
	return stepagent.Ask(llmclient.Request{Tools: step.Tools}, func(resp llmclient.Response) stepagent.StepResult {
		if calls := resp.Message.Calls(); len(calls) > 0 {
			return stepagent.ToolCalls(calls...)
		}
		return stepagent.Finish(resp.Message.Text())
	})
}

// said returns a reply without its calls, which are not made.
func said(m messages.Assistant) messages.Assistant {
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(c messages.AssistantContent) bool {
		_, call := c.(messages.ToolCall)
		return call
	})
	return m
}

// talk asks, and continues with the reply.
func talk(stepagent.Step) stepagent.StepResult {
	return stepagent.Ask(llmclient.Request{}, func(resp llmclient.Response) stepagent.StepResult {
		return stepagent.Continue(said(resp.Message), messages.UserText("Go on."))
	})
}

// twice asks two times in each step.
func twice(stepagent.Step) stepagent.StepResult {
	return stepagent.Ask(llmclient.Request{}, func(first llmclient.Response) stepagent.StepResult {
		return stepagent.Ask(llmclient.Request{Messages: messages.History{messages.UserText("Better than this? " + first.Message.Text())}}, func(second llmclient.Response) stepagent.StepResult {
			return stepagent.Finish(second.Message.Text())
		})
	})
}

// asTold does what the word of the goal says that has the number of the iteration.
func asTold(step stepagent.Step) stepagent.StepResult {
	words := strings.Fields(step.Goal)
	if step.Iteration > len(words) {
		return stepagent.Finish("done")
	}
	switch words[step.Iteration-1] {
	case "call":
		return stepagent.ToolCalls(messages.ToolCall{Name: "look", Arguments: "{}"})
	case "continue":
		return stepagent.Continue()
	case "fail":
		return stepagent.Fail(errors.New("as I was told"))
	default:
		return stepagent.Finish("done")
	}
}

var plans = stepagent.Prompts{Plan: `Plan before {{.Iteration}} of {{.MaxIterations}}.`, Follow: `Follow it.`}

// hears asks a model in its first step, then for each note, and is done when there is none.
func hears(s stepagent.Step) stepagent.StepResult {
	if s.Iteration > 1 && len(s.Heard()) == 0 {
		return stepagent.Finish("enough")
	}
	return stepagent.Ask(llmclient.Request{}, func(r llmclient.Response) stepagent.StepResult {
		if s.Iteration == 2 {
			return stepagent.Finish(strings.Join(s.Heard(), " ") + " " + r.Message.Text())
		}
		return stepagent.Continue(said(r.Message), messages.UserText("heard: "+strings.Join(s.Heard(), " ")))
	})
}

// set holds the configurations that the stories name.
var set = strategy.Set{
	"as-told":         stepagent.New(stepagent.Config{Step: asTold, MaxIterations: 3}),
	"as-told-planned": stepagent.New(stepagent.Config{Step: asTold, MaxIterations: 3, PlanEvery: 1, Prompts: plans}),
	"example":         stepagent.New(exampleAgent("example")),
	"hears":           stepagent.New(stepagent.Config{Step: hears}),
	"loop":            stepagent.New(stepagent.Config{Step: loop, System: "Be brief."}),
	"two":             stepagent.New(stepagent.Config{Step: loop, MaxIterations: 2}),
	"final":           stepagent.New(stepagent.Config{Step: loop, FinalTool: "final", MaxIterations: 4}),
	"final-two":       stepagent.New(stepagent.Config{Step: loop, FinalTool: "final", MaxIterations: 2}),
	"twice":           stepagent.New(stepagent.Config{Step: twice}),
	"talk":            stepagent.New(stepagent.Config{Step: talk, MaxIterations: 3}),
	"plan":            stepagent.New(stepagent.Config{Step: talk, MaxIterations: 5, PlanEvery: 2, Prompts: plans}),
	"plan-always":     stepagent.New(stepagent.Config{Step: talk, MaxIterations: 7, PlanEvery: 1, Prompts: plans}),
	"plan-words":      stepagent.New(stepagent.Config{Step: loop, PlanEvery: 1}),
	"idle": stepagent.New(stepagent.Config{MaxIterations: 3, Step: func(stepagent.Step) stepagent.StepResult {
		return stepagent.Continue()
	}}),
}

const stories = "../../testdata/stories/stepagent"

// The stories take every transition of the table.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, stories, set), 1, stepagent.Table)
}

// S1-2: the stories end in the same way however they are run.
func TestS1_2_ways(t *testing.T) { strategytest.Ways(t, stories, set) }

func TestConform(t *testing.T) {
	for i, name := range set.Names() {
		long := name == "twice" || name == "example" || name == "two"
		if !long && !prove.OneIn(3, i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := prove.DepthOr(1, 2)
			if long {
				steps = prove.DepthOr(2, 3)
			}
			strategytest.Conform(t, strategytest.Subject{
				New:   set[name],
				Input: delegation.Input{Goal: "a task", Messages: messages.History{messages.UserText("hello"), messages.AssistantText("hi")}},
				Tools: []tools.Definition{{Name: "look"}},
				Steps: steps, Unreached: []string{"*"}, // some are done at once, and all have one table
			})
		})
	}
}
