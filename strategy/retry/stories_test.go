package retry_test

import (
	"strings"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

// set holds the configurations that the stories name.
var set = strategy.Set{
	"complete-task":    completetask.New(completetask.Config{}),
	"answers":          completetask.New(completetask.Config{OnEmpty: completetask.EmptyFail}),
	"in-pieces":        completetask.New(completetask.Config{OnLength: completetask.LengthContinue, MaxRetries: 1}),
	"must-be-approved": reflection.New(reflection.Config{MaxIterations: 1, OnRejected: reflection.RejectedFail}),

	"retry":               retry.New(retry.Config{Strategy: "answers"}),
	"retry-accepts-empty": retry.New(retry.Config{OnEmpty: retry.EmptyAccept}),
	"retry-tasks":         retry.New(retry.Config{}),
	"retry-in-pieces":     retry.New(retry.Config{Strategy: "in-pieces"}),
	"strict":              retry.New(retry.Config{Detector: retry.DetectStrict, MaxRetries: 1}),
	"retry-reflection":    retry.New(retry.Config{Strategy: "must-be-approved"}),
	"retry-of-retries":    retry.New(retry.Config{Strategy: "retry-once", MaxRetries: 1}),
	"retry-once":          retry.New(retry.Config{Strategy: "answers", MaxRetries: 1}),
	"retry-itself":        retry.New(retry.Config{Strategy: "retry-itself"}),
	"retry-what-is-not":   retry.New(retry.Config{Strategy: "no-such-strategy"}),
	"retry-within-limit":  retry.New(retry.Config{Limits: delegation.Limits{ModelCalls: 1}}),
	"shouts": retry.New(retry.Config{Detect: func(out delegation.Output) (bool, string) {
		return out.Text() != strings.ToUpper(out.Text()), "the answer is not in capitals"
	}}),
}

const stories = "../../testdata/stories/retry"

// The stories take every transition of the table.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, stories, set), 1, retry.Table)
}

// S1-2: the stories end in the same way however they are run.
func TestS1_2_ways(t *testing.T) { strategytest.Ways(t, stories, set) }

func TestConform(t *testing.T) {
	for _, name := range []string{"retry", "strict", "shouts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Conform(t, strategytest.Subject{
				New:      set[name],
				Input:    delegation.Input{Goal: "a task", Messages: messages.History{messages.UserText("hello"), messages.AssistantText("hi")}},
				Tools:    []tools.Definition{{Name: "look"}},
				Children: []string{"answers", "complete-task"},
			})
		})
	}
}
