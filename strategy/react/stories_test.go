package react_test

import (
	"errors"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

// set holds the configurations that the stories name.
var set = strategy.Set{
	"complete-task":       completetask.New(completetask.Config{}),
	"react":               react.New(react.Config{Policy: terse{}}),
	"three-steps":         react.New(react.Config{MaxSteps: 3, Policy: terse{}}),
	"two-steps-then-fail": react.New(react.Config{MaxSteps: 2, OnLimit: react.LimitFail, Policy: terse{}}),
	"two-steps-broken-prompt": react.New(react.Config{
		MaxSteps: 2, Policy: terse{}, Prompts: react.Prompts{Conclude: `{{if eq .MaxSteps 2}}{{index .Known 9}}{{end}}`},
	}),
	"searching": react.New(react.Config{Search: toolsearch.Config{Above: 2, Results: 1, Pinned: []string{"look"}}, Policy: terse{}}),
	"searching-once": react.New(react.Config{
		MaxSteps: 1, OnLimit: react.LimitFail, Search: toolsearch.Config{Above: 2, Results: 1}, Policy: terse{},
	}),
	"compacts":            react.New(react.Config{Policy: terse{}, Compact: small("")}),
	"compacts-two-steps":  react.New(react.Config{Policy: terse{}, Compact: small(""), MaxSteps: 2}),
	"compacts-if-refused": react.New(react.Config{Policy: terse{}, Compact: &compaction.Config{Keep: 1, Prompts: smallPrompts}}),
	"trims-if-refused":    react.New(react.Config{Policy: terse{}, Compact: &compaction.Config{Keep: 1, How: compaction.Trim}, MaxSteps: 2}),
	"cannot-write-it":     react.New(react.Config{Policy: unsummarized{}, Compact: small("")}),
	"with-system":         react.New(react.Config{System: "Be brief.", Policy: terse{}}),
	"no-retry":            react.New(react.Config{MaxRetries: -1, Policy: terse{}}),
	"no-tools":            react.New(react.Config{Tools: []string{}}),
	"whole-instructions":  react.New(react.Config{}),
}

var smallPrompts = compaction.Prompts{System: "Summarize.", Request: "{{.Task}}:\n{{.Transcript}}", Summary: "So far: {{.Summary}}", Gap: "Some is left out."}

// small is a compaction within a window of 100 tokens.
func small(how compaction.How) *compaction.Config {
	return &compaction.Config{Window: 100, Keep: 1, MaxTokens: 40, How: how, Prompts: smallPrompts}
}

// unsummarized is a format that cannot write summaries.
type unsummarized struct{ terse }

func (unsummarized) FormatQuery(h messages.History) (messages.History, error) {
	for _, m := range h {
		if u, ok := m.(messages.User); ok && u.Summary {
			return nil, errors.New("no summaries")
		}
	}
	return terse{}.FormatQuery(h)
}

func (unsummarized) WithTools([]tools.Definition) markdownpolicy.Policy { return unsummarized{} }

const stories = "../../testdata/stories/react"

// The stories take every transition of the table.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, stories, set), 1, react.Table)
}

// S1-2: the stories end in the same way however they are run.
func TestS1_2_ways(t *testing.T) { strategytest.Ways(t, stories, set) }

func TestConform(t *testing.T) {
	for i, name := range []string{"react", "three-steps", "two-steps-then-fail", "compacts", "compacts-two-steps", "trims-if-refused", "no-retry", "no-tools", "whole-instructions"} {
		if !prove.OneIn(3, i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := prove.DepthOr(1, 2)
			if name == "no-retry" { // its paths are short
				steps = prove.DepthOr(2, 3)
			}
			strategytest.Conform(t, strategytest.Subject{
				New: set[name],
				Input: delegation.Input{Goal: "a task", Messages: messages.History{
					messages.UserText("hello"),
					messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{ID: "call_1", Name: "look", Arguments: "{}"}}},
					messages.Tool{ToolOutput: messages.ToolOutput{CallID: "call_1", ToolName: "look", Output: "nothing"}},
					messages.AssistantText("hi"),
				}},
				Tools: []tools.Definition{{Name: "look"}},
				Steps: steps,
				Replies: []llmclient.Response{
					say("Thought: t\nAction: look\nAction Input: {}\nObservation: made up"),
					say("Action: fly\nAction Input: up"),
					say("Thought: t"),
					say("Final Answer: 42"),
				},
			})
		})
	}
}
