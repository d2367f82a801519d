package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/tools"
)

// offeredBy returns the names of the tools of each request.
func offeredBy(requests []llmclient.Request) (all []string) {
	for _, r := range requests {
		var names []string
		for _, d := range r.Tools {
			names = append(names, d.Name)
		}
		all = append(all, strings.Join(names, " "))
	}
	return all
}

// searchRun makes a run with fifty tools, and returns what its steps declare.
func searchRun(t *testing.T, model *scripted.Client, factory func() strategy.Strategy) (anew []string) {
	t.Helper()
	o, err := orchestrator.New(orchestrator.Config{Client: model, Tools: fifty(), Strategies: strategy.Set{"it": factory}})
	require.NoError(t, err)
	for e, err := range o.Stream(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Do part 7."}}) {
		require.NoError(t, err)
		if taken, ok := e.Detail.(machine.StepTaken); ok && taken.Anew != nil {
			anew = append(anew, *taken.Anew)
		}
	}
	return anew
}

var answerSchema = &llmclient.Schema{Name: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}

// The tool for the answer stays where it was first offered: what is found later comes after it.
func TestSearch_answerToolStays(t *testing.T) {
	search := func(id, name string) scripted.Reply { return call(id, "search_tools", `{"query":"`+name+`"}`) }
	for name, c := range map[string]struct {
		choice  llmclient.ToolChoice
		offered []string
	}{
		"from the beginning": {offered: []string{
			"search_tools final", "search_tools final part_7", "search_tools final part_7", "search_tools final part_7 part_9",
		}},
		"after the first call": {choice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, offered: []string{
			"search_tools", "search_tools part_7", "search_tools part_7 final", "search_tools part_7 final part_9",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			model := scripted.New(search("a", "part_7"), call("b", "part_7", "{}"), search("c", "part_9"), call("d", "final", `{"n":1}`))
			searchRun(t, model, completetask.New(completetask.Config{
				Schema: answerSchema, Answer: completetask.AnswerTool, ToolChoice: c.choice, Search: toolsearch.Config{Results: 1},
			}))
			require.Equal(t, c.offered, offeredBy(model.Requests()))
		})
	}
}

// A search is none of the calls that a forced choice asks for: the choice stays until a tool runs.
func TestSearch_doesNotSatisfyAForcedChoice(t *testing.T) {
	model := scripted.New(
		call("a", "search_tools", `{"query":"part_7"}`), call("b", "part_9", "{}"), call("c", "part_7", "{}"), scripted.Text("Done."),
	)
	searchRun(t, model, completetask.New(completetask.Config{
		ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, Search: toolsearch.Config{Results: 1},
	}))
	var modes []llmclient.ToolChoiceMode
	for _, r := range model.Requests() {
		modes = append(modes, r.ToolChoice.Mode)
	}
	require.Equal(t, []llmclient.ToolChoiceMode{llmclient.ChooseRequired, llmclient.ChooseRequired, llmclient.ChooseRequired, ""}, modes)
}

// A request that follows a compaction and offers tools that were found declares both, and a later
// compaction takes none of them away.
func TestSearch_foundBeforeACompaction(t *testing.T) {
	for _, how := range []compaction.How{compaction.Trim, compaction.Summarize} {
		t.Run(string(how), func(t *testing.T) {
			long := strings.Repeat("a long thought ", 30)
			search := func(id, name string) scripted.Reply {
				return call(id, "search_tools", `{"query":"`+name+`","why":"`+long+`"}`)
			}
			script := []scripted.Reply{search("a", "part_7"), search("b", "part_9")}
			if how == compaction.Summarize {
				script = append(script, scripted.Text("part_7 was found"))
			}
			model := scripted.New(append(script, scripted.Text("Done."))...)
			anew := searchRun(t, model, completetask.New(completetask.Config{
				Search: toolsearch.Config{Results: 1}, Compact: &compaction.Config{Window: 340, Keep: 1, How: how, MaxTokens: 20},
			}))
			offered := offeredBy(model.Requests())
			require.Equal(t, "search_tools part_7 part_9", offered[len(offered)-1])
			require.Equal(t, "old messages were summarized or left out; tools found: part_9", anew[len(anew)-1])
		})
	}
}

// A step that begins again, because a request of it was refused as too long, shows only what it
// does from then on: what it did before is in the conversation.
func TestReasonActObserve_refusedStepBeginsAgain(t *testing.T) {
	long := strings.Repeat("a long result ", 200)
	look := tools.NewRaw(tools.Definition{Name: "look", ReadOnly: true}, func(context.Context, string) (string, error) { return long, nil })
	observe := func(id, arguments string) scripted.Reply { return call(id, "agent_observe_decide", arguments) }
	decide := func(id string) scripted.Reply { return call(id, "agent_decide_next", `{"plan":"look"}`) }
	model := scripted.New(
		decide("a"), call("b", "look", `{"n":1}`), observe("c", `{"should_continue":true}`),
		decide("d"), call("e", "look", `{"n":2}`), scripted.Reply{Err: &llmclient.Error{Code: llmclient.CodeContextLength, Message: "too long"}},
		decide("f"), call("g", "look", `{"n":3}`), observe("h", `{"final_answer":"Seen."}`),
	)
	o, err := orchestrator.New(orchestrator.Config{Client: model, Tools: []tools.Tool{look}, Strategies: strategy.Set{
		reasonactobserve.Name: reasonactobserve.New(reasonactobserve.Config{Compact: &compaction.Config{How: compaction.Trim, Keep: 1}}),
	}})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Look."}})
	require.NoError(t, err)
	require.Equal(t, "Seen.", res.Output.Text())
	requests := model.Requests()
	last := requests[len(requests)-1].Messages
	shown := last[len(last)-1]
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	require.Contains(t, string(text), `\"n\":3`)
	require.NotContains(t, string(text), `\"n\":2`)
}
