package reflection_test

import (
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

// set holds the configurations that the stories name.
var set = strategy.Set{
	"complete-task":    completetask.New(completetask.Config{}),
	"reflection":       reflection.New(reflection.Config{}),
	"two-iterations":   reflection.New(reflection.Config{MaxIterations: 2}),
	"must-be-approved": reflection.New(reflection.Config{MaxIterations: 1, OnRejected: reflection.RejectedFail}),
	"another-critic":   reflection.New(reflection.Config{Model: "writer", CriticModel: "critic", System: "Be brief.", JSONCritique: true}),
	"delegating":       reflection.New(reflection.Config{Generator: "complete-task"}),
	"two-rounds":       reflection.New(reflection.Config{MaxToolRounds: 2}),
	"one-round-broken-prompt": reflection.New(reflection.Config{
		MaxToolRounds: 1, Prompts: reflection.Prompts{Conclude: `{{if ne .Goal "a goal"}}{{slice .Goal 99}}{{end}}`},
	}),
	"no-retry": reflection.New(reflection.Config{MaxRetries: -1}),
	"no-tools": reflection.New(reflection.Config{Tools: []string{}}),

	"delegating-in-pieces": reflection.New(reflection.Config{Generator: "in-pieces"}),
	"in-pieces":            completetask.New(completetask.Config{OnLength: completetask.LengthContinue}),
}

const stories = "../../testdata/stories/reflection"

// The stories take every transition of the table.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, stories, set), 1, reflection.Table)
}

// S1-2: the stories end in the same way however they are run.
func TestS1_2_ways(t *testing.T) { strategytest.Ways(t, stories, set) }

func TestConform(t *testing.T) {
	for i, name := range []string{"reflection", "two-iterations", "must-be-approved", "another-critic", "delegating", "two-rounds"} {
		if !prove.OneIn(2, i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := prove.DepthOr(1, 2)
			if name == "delegating" || name == "two-iterations" {
				steps = prove.DepthOr(2, 3)
			}
			strategytest.Conform(t, strategytest.Subject{
				New:      set[name],
				Input:    delegation.Input{Goal: "a task", Messages: messages.History{messages.UserText("hello"), messages.AssistantText("hi")}},
				Tools:    []tools.Definition{{Name: "look"}},
				Children: []string{"complete-task"},
				Steps:    steps,
				Replies: []llmclient.Response{
					{Message: messages.AssistantText("APPROVED"), Finish: llmclient.FinishStop},
					{Message: messages.AssistantText(`{"approved":false,"feedback":"shorter"}`), Finish: llmclient.FinishStop},
				},
			})
		})
	}
}
