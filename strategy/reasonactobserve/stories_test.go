package reasonactobserve_test

import (
	"encoding/json"
	"testing"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	rao "github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

// brief are short prompts that keep the stories readable.
var brief = rao.Prompts{
	Reason:  `Step {{.Step}}{{if .MaxSteps}} of {{.MaxSteps}}{{end}}: decide.`,
	Decide:  `Decide, in JSON.`,
	Noted:   `Noted.`,
	Observe: `Observe:{{range .Results}} [{{or .Tool "unreadable"}} {{.Arguments}}{{if not .OK}} failed{{end}}: {{.Text}}]{{else}} no tools were executed{{end}}`,
}

// broken are prompts that fail on data that the sample of the set-up does not have: in the second
// step, and on results.
var broken = rao.Prompts{
	Reason:  `{{if gt .Step 1}}{{slice .Goal 99}}{{end}}Decide.`,
	Observe: `{{range .Results}}{{if .OK}}{{slice .Tool 5}}{{end}}{{end}}Observe.`,
}

// set holds the configurations that the stories name.
var set = strategy.Set{
	"reason-act-observe":      rao.New(rao.Config{}),
	"three-steps":             rao.New(rao.Config{MaxSteps: 3, Prompts: brief}),
	"three-steps-accept":      rao.New(rao.Config{MaxSteps: 3, OnLimit: rao.LimitAccept, Prompts: brief}),
	"two-steps":               rao.New(rao.Config{MaxSteps: 2, Prompts: brief}),
	"two-steps-accept":        rao.New(rao.Config{MaxSteps: 2, OnLimit: rao.LimitAccept, Prompts: brief}),
	"two-steps-fail":          rao.New(rao.Config{MaxSteps: 2, OnLimit: rao.LimitFail, Prompts: brief}),
	"run-all":                 rao.New(rao.Config{RunAll: true, MaxRepeats: 1, Prompts: brief}),
	"no-tools":                rao.New(rao.Config{Tools: []string{}, NoInput: true, Prompts: brief}),
	"two-repeats":             rao.New(rao.Config{MaxRepeats: 2, Prompts: brief}),
	"forty-characters":        rao.New(rao.Config{MaxObserved: 40, Prompts: brief}),
	"missing-tool":            rao.New(rao.Config{Tools: []string{"no_such_tool"}}),
	"retrieval-only":          rao.New(rao.Config{Tools: []string{}, Retrieval: rao.Retrieval{Tool: "look"}, Prompts: brief}),
	"searching":               rao.New(rao.Config{MaxSteps: 3, RunAll: true, Search: toolsearch.Config{Above: 2, Results: 1, Pinned: []string{"look"}}, Prompts: brief}),
	"broken-prompt":           rao.New(rao.Config{Prompts: broken}),
	"retrieval-broken-prompt": rao.New(rao.Config{Tools: []string{}, Retrieval: rao.Retrieval{Tool: "look"}, Prompts: broken}),
	"compacts":                rao.New(rao.Config{MaxSteps: 3, Prompts: brief, Compact: small("")}),
	"compacts-one-step":       rao.New(rao.Config{MaxSteps: 1, Prompts: brief, Compact: small("")}),
	"compacts-if-refused":     rao.New(rao.Config{Prompts: brief, Compact: &compaction.Config{Keep: 1, Prompts: smallPrompts}}),
	"trims-if-refused":        rao.New(rao.Config{MaxSteps: 1, Prompts: brief, Compact: &compaction.Config{Keep: 1, How: compaction.Trim, Prompts: smallPrompts}}),
	"retrieval":               rao.New(rao.Config{Retrieval: rao.Retrieval{Tool: "look"}, Prompts: brief}),
}

var smallPrompts = compaction.Prompts{System: "Summarize.", Request: "{{.Task}}:\n{{.Transcript}}", Summary: "So far: {{.Summary}}", Gap: "Some is left out."}

// small is a compaction within a window of 400 tokens, of which the control tools are about half.
func small(how compaction.How) *compaction.Config {
	return &compaction.Config{Window: 400, Keep: 1, MaxTokens: 40, How: how, Prompts: smallPrompts}
}

const stories = "../../testdata/stories/reasonactobserve"

// The stories take every transition of the table.
func TestStories(t *testing.T) {
	strategytest.RequireCoverage(t, strategytest.Stories(t, stories, set), 1, rao.Table)
}

// S1-2: the stories end in the same way however they are run.
func TestS1_2_ways(t *testing.T) { strategytest.Ways(t, stories, set) }

func calling(name, args string) llmclient.Response {
	return llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
		messages.ToolCall{ID: "c", Name: name, Arguments: args},
	}}}
}

func TestConform(t *testing.T) {
	for _, name := range []string{"reason-act-observe", "no-tools", "retrieval"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Conform(t, strategytest.Subject{
				New: set[name],
				Input: delegation.Input{
					Goal:     "a task",
					Messages: messages.History{messages.UserText("hello"), messages.AssistantText("hi")},
					Data:     json.RawMessage(`{"data_sources":["a"],"user":"u"}`),
				},
				Tools: []tools.Definition{{Name: "look", ReadOnly: true}},
				Steps: prove.DepthOr(1, 2), // TestAnyModel goes deeper
				Replies: []llmclient.Response{
					calling(rao.DecideNext, `{"finish":true}`),
					calling(rao.DecideNext, `{"finish":false,"request_input":{"question":"Which?"}}`),
					calling(rao.ObserveDecide, `{"should_continue":"false"}`),
				},
			})
		})
	}
}
