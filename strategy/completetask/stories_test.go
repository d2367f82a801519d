package completetask_test

import (
	"encoding/json"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

var citySchema = &llmclient.Schema{Name: "city", Schema: json.RawMessage(`{
	"type": "object",
	"properties": {"city": {"type": "string"}, "inhabitants": {"type": "integer"}},
	"required": ["city", "inhabitants"],
	"additionalProperties": false
}`)}

// small is a compaction within a window of 100 tokens.
func small(how compaction.How) *compaction.Config {
	return &compaction.Config{Window: 100, Keep: 1, MaxTokens: 40, How: how, Prompts: compaction.Prompts{
		System: "Summarize.", Request: "{{.Task}}:\n{{.Transcript}}", Summary: "So far: {{.Summary}}", Gap: "Some is left out.",
	}}
}

// set holds the configurations that the stories name.
var set = strategy.Set{
	"complete-task":        completetask.New(completetask.Config{}),
	"one-call":             completetask.New(completetask.Config{MaxModelCalls: 1}),
	"three-calls":          completetask.New(completetask.Config{MaxModelCalls: 3}),
	"two-calls-then-fail":  completetask.New(completetask.Config{MaxModelCalls: 2, OnLimit: completetask.LimitFail}),
	"accepts-length":       completetask.New(completetask.Config{OnLength: completetask.LengthAccept}),
	"continues":            completetask.New(completetask.Config{OnLength: completetask.LengthContinue}),
	"asks-when-empty":      completetask.New(completetask.Config{OnEmpty: completetask.EmptyAsk}),
	"fails-when-empty":     completetask.New(completetask.Config{OnEmpty: completetask.EmptyFail}),
	"city":                 completetask.New(completetask.Config{Schema: citySchema}),
	"city-by-tool":         completetask.New(completetask.Config{Schema: citySchema, Answer: completetask.AnswerTool}),
	"city-native":          completetask.New(completetask.Config{Schema: citySchema, Answer: completetask.AnswerNative}),
	"city-tool-first":      completetask.New(completetask.Config{Schema: citySchema, Answer: completetask.AnswerTool, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}}),
	"forced":               completetask.New(completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}}),
	"forced-or-fail":       completetask.New(completetask.Config{ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, OnRefusedChoice: completetask.RefusedFail}),
	"compacts":             completetask.New(completetask.Config{Compact: small("")}),
	"compacts-and-asks":    completetask.New(completetask.Config{Compact: small(""), OnLength: completetask.LengthContinue}),
	"compacts-two-calls":   completetask.New(completetask.Config{Compact: small(""), MaxModelCalls: 2}),
	"compacts-if-refused":  completetask.New(completetask.Config{Compact: &compaction.Config{Keep: 1}}),
	"trims":                completetask.New(completetask.Config{Compact: small(compaction.Trim)}),
	"trims-if-refused":     completetask.New(completetask.Config{Compact: &compaction.Config{Keep: 1, How: compaction.Trim}, MaxModelCalls: 2}),
	"names-a-missing-tool": completetask.New(completetask.Config{Tools: []string{"no_such_tool"}}),
	"searching":            completetask.New(completetask.Config{Search: toolsearch.Config{Above: 2, Results: 1, Pinned: []string{"read_file"}}}),
	"searching-twice":      completetask.New(completetask.Config{MaxModelCalls: 2, Search: toolsearch.Config{Above: 2, Results: 1}}),
	"searching-then-fail":  completetask.New(completetask.Config{MaxModelCalls: 2, OnLimit: completetask.LimitFail, Search: toolsearch.Config{Above: 2, Results: 1}}),
	"searching-city": completetask.New(completetask.Config{
		Schema: citySchema, Answer: completetask.AnswerTool, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, Search: toolsearch.Config{Above: 2, Results: 1},
	}),
	"triage": completetask.New(completetask.Config{System: "Send people on.", Handoffs: []completetask.Handoff{
		{Strategy: "with-system", Description: "refunds"},
		{Strategy: "three-calls", Tool: "to_books", History: completetask.HistoryGoal},
		{Strategy: "one-call", Tool: "to_three", History: completetask.HistoryLast},
	}}),
	"circle":       completetask.New(completetask.Config{Handoffs: []completetask.Handoff{{Strategy: "circle", Tool: "around"}}}),
	"with-system":  completetask.New(completetask.Config{System: "Be brief."}),
	"other-system": completetask.New(completetask.Config{System: "Be thorough."}),
	"keeps-system": completetask.New(completetask.Config{System: "Be thorough.", KeepSystem: true}),
}

// The stories take every transition of the table.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, "../../testdata/stories/completetask", set), 1, completetask.Table)
}

func TestConform(t *testing.T) {
	for i, name := range set.Names() {
		long := name == "complete-task" || name == "city"
		if !long && !prove.OneIn(3, i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := prove.DepthOr(1, 2)
			if long {
				steps = prove.DepthOr(2, 3)
			}
			var unreached []string
			if name == "names-a-missing-tool" { // it ends at once
				unreached = []string{"*"}
			}
			strategytest.Conform(t, strategytest.Subject{
				New: set[name], Unreached: unreached,
				Input: delegation.Input{Goal: "a task", Messages: messages.History{messages.UserText("hello"), messages.AssistantText("hi")}},
				Tools: []tools.Definition{{Name: "look"}},
				Steps: steps,
				Replies: []llmclient.Response{
					{Message: messages.AssistantText(`{"city":"Paris","inhabitants":2100000}`), Finish: llmclient.FinishStop},
				},
			})
		})
	}
}
