package builtin_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/compaction"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/toolsearch"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/tools"
)

// fifty are more tools than are offered by default.
func fifty() (list []tools.Tool) {
	for i := range 50 {
		def := tools.Definition{Name: fmt.Sprint("part_", i), Description: "Does part " + strings.Repeat("x", i+1) + " of the work.", ReadOnly: true}
		list = append(list, tools.NewRaw(def, func(context.Context, string) (string, error) { return "done", nil }))
	}
	return list
}

func called(id, name, arguments string) llmclient.Response {
	return llmclient.Response{Message: messages.Assistant{Content: []messages.AssistantContent{
		messages.ToolCall{ID: id, Name: name, Arguments: arguments},
	}}, Finish: llmclient.FinishToolCalls}
}

func call(id, name, arguments string) scripted.Reply {
	return scripted.Calls(messages.ToolCall{ID: id, Name: name, Arguments: arguments})
}

// By default more than forty tools are not offered: the model searches for them. Each request
// extends the one before, but for tools that are appended, and the event of each request that has
// more says which.
func TestSearch_byDefault(t *testing.T) {
	model := scripted.New(
		call("a", "search_tools", `{"query":"part_7"}`), call("b", "part_7", "{}"), call("c", "part_9", "{}"), call("d", "part_9", "{}"),
		scripted.Text("All done."),
	)
	o, err := orchestrator.New(orchestrator.Config{
		Client: model, Tools: fifty(), Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{Search: toolsearch.Config{Results: 1}})},
	})
	require.NoError(t, err)
	var anew []string
	for e, err := range o.Stream(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Do part 7."}}) {
		require.NoError(t, err)
		if taken, ok := e.Detail.(machine.StepTaken); ok && taken.Anew != nil {
			anew = append(anew, *taken.Anew)
		}
	}
	require.Equal(t, []string{"tools found: part_7", "tools found: part_9"}, anew)
	requests := model.Requests()
	require.Len(t, requests, 5)
	var departures []string
	for i := range requests[1:] {
		earlier, now := requests[i], requests[i+1]
		departures = append(departures, now.Departure(&earlier))
		require.Equal(t, len(earlier.Messages), earlier.Messages.Common(now.Messages), "the messages go on")
	}
	require.Equal(t, []string{`it offers more tools: ["part_7"]`, "", `it offers more tools: ["part_9"]`, ""}, departures)
	last := requests[4]
	require.Equal(t, []string{"search_tools", "part_7", "part_9"}, []string{last.Tools[0].Name, last.Tools[1].Name, last.Tools[2].Name})
}

// Over a text format the tools are described in the system prompt, which holds what was found from
// the next request on.
func TestSearch_textFormat(t *testing.T) {
	model := scripted.New(
		scripted.Text("<tool_call>\n{\"name\": \"search_tools\", \"arguments\": {\"query\": \"part_7\"}}\n</tool_call>"),
		scripted.Text("<tool_call>\n{\"name\": \"part_7\", \"arguments\": {}}\n</tool_call>"), scripted.Text("Done."),
	)
	o, err := orchestrator.New(orchestrator.Config{
		Client: policyclient.Wrap(model, markdownpolicy.Hermes), Tools: fifty(),
		Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{Search: toolsearch.Config{Results: 1}})},
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Do part 7."}})
	require.NoError(t, err)
	require.Equal(t, "Done.", res.Output.Text())
	var described []bool
	for _, r := range model.Requests() {
		system := r.Messages[0].(messages.System).Text
		require.Contains(t, system, "search_tools")
		require.NotContains(t, system, "part_8")
		described = append(described, strings.Contains(system, "part_7"))
	}
	require.Equal(t, []bool{false, true, true}, described)
}

// A run offers everything if the search is off, and with the text format, where nobody would
// describe the search to the model.
func TestSearch_off(t *testing.T) {
	for name, cfg := range map[string]completetask.Config{
		"off": {Search: toolsearch.Config{Above: -1}}, "text": {ToolFormat: llmclient.ToolsText, Search: toolsearch.Config{Above: 2}}, "more": {Search: toolsearch.Config{Above: 50}},
	} {
		model := scripted.New(scripted.Text("Done."))
		o, err := orchestrator.New(orchestrator.Config{Client: model, Tools: fifty(), Strategies: strategy.Set{completetask.Name: completetask.New(cfg)}})
		require.NoError(t, err)
		_, err = o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Do it."}})
		require.NoError(t, err)
		require.Len(t, model.Requests()[0].Tools, 50, name)
	}
}

// In the next turn of a chat the tools that were called are offered from the beginning.
func TestSearch_nextTurn(t *testing.T) {
	model := scripted.New(
		call("a", "search_tools", `{"query":"part_7 part_8"}`), call("b", "part_7", "{}"), scripted.Text("Done."),
		call("c", "part_7", "{}"), scripted.Text("Done again."),
	)
	o, err := orchestrator.New(orchestrator.Config{
		Client: model, Tools: fifty(), Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{Search: toolsearch.Config{Results: 3}})},
	})
	require.NoError(t, err)
	res, err := o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Do part 7."}})
	require.NoError(t, err)
	require.Len(t, model.Requests()[2].Tools, 3)
	res, err = o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Again.", Messages: res.Output.Messages}})
	require.NoError(t, err)
	require.Equal(t, "Done again.", res.Output.Text())
	offered := model.Requests()[3].Tools
	require.Len(t, offered, 2)
	require.Equal(t, []string{"search_tools", "part_7"}, []string{offered[0].Name, offered[1].Name})
}

// searching are the strategies that search, with a Search.
func searching(c toolsearch.Config) map[string]func() strategy.Strategy {
	return map[string]func() strategy.Strategy{
		completetask.Name:     completetask.New(completetask.Config{Search: c}),
		react.Name:            react.New(react.Config{Search: c}),
		reasonactobserve.Name: reasonactobserve.New(reasonactobserve.Config{Search: c}),
	}
}

func TestSearch_mistakes(t *testing.T) {
	for name, factory := range searching(toolsearch.Config{Above: 1, Name: "part_1"}) {
		o, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Tools: fifty(), Strategies: strategy.Set{name: factory}})
		require.NoError(t, err)
		_, err = o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Do it."}})
		require.ErrorContains(t, err, `Search: the run has a tool "part_1" of its own: give the search another Name`, name)
	}
	for name, factory := range searching(toolsearch.Config{Pinned: []string{"part_1", "part_50"}}) {
		_, err := orchestrator.New(orchestrator.Config{Client: scripted.New(), Tools: fifty(), Strategies: strategy.Set{name: factory}})
		require.ErrorContains(t, err, `"part_50"`, name)
	}
	for name, factory := range searching(toolsearch.Config{Results: -1}) {
		require.ErrorContains(t, factory().(strategy.Checker).Check(), "Search: Results is -1", name)
	}
	for text, factory := range map[string]func() strategy.Strategy{
		`Search: the Name "final" is that of the tool for the answer`: completetask.New(completetask.Config{
			Schema: &llmclient.Schema{Name: "s", Schema: []byte(`{"type":"object"}`)}, Search: toolsearch.Config{Name: "final"},
		}),
		`the Name "agent_decide_next" is that of a control tool`: reasonactobserve.New(reasonactobserve.Config{
			Search: toolsearch.Config{Name: reasonactobserve.DecideNext},
		}),
	} {
		require.ErrorContains(t, factory().(strategy.Checker).Check(), text)
	}
}

// A forced tool need not be found.
func TestSearch_forcedTool(t *testing.T) {
	model := scripted.New(call("a", "part_30", "{}"), scripted.Text("Done."))
	o, err := orchestrator.New(orchestrator.Config{Client: model, Tools: fifty(), Strategies: strategy.Set{completetask.Name: completetask.New(completetask.Config{
		ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "part_30"}, Search: toolsearch.Config{Pinned: []string{"part_2"}},
	})}})
	require.NoError(t, err)
	_, err = o.Run(t.Context(), orchestrator.Task{Input: delegation.Input{Goal: "Do it."}})
	require.NoError(t, err)
	offered := model.Requests()[0].Tools
	require.Equal(t, []string{"part_2", "part_30", "search_tools"}, []string{offered[0].Name, offered[1].Name, offered[2].Name})
}

// The strategies obey the laws of strategies while they search, whatever the model calls.
func TestSearch_conforms(t *testing.T) {
	search := toolsearch.Config{Above: 1, Results: 1}
	subjects := searching(search)
	subjects["with a final tool, forced, and compaction"] = completetask.New(completetask.Config{
		Schema: answerSchema, Answer: completetask.AnswerTool, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, Search: search,
		Compact: &compaction.Config{Window: 150, Keep: 1, MaxTokens: 10},
	})
	for name, factory := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategytest.Conform(t, strategytest.Subject{
				New: factory, Input: delegation.Input{Goal: "a task"}, Tools: []tools.Definition{{Name: "look"}, {Name: "listen"}}, Steps: prove.DepthOr(1, 2),
				Replies: []llmclient.Response{
					called("s", "search_tools", `{"query":"look"}`), called("v", "search_tools", `{"query":"unicorn"}`), called("e", "listen", "{}"),
					{Message: messages.Assistant{Content: slices.Concat(
						called("1", "search_tools", `{"query":"listen"}`).Message.Content, called("2", "look", "{}").Message.Content,
						called("3", "agent_decide_next", "{}").Message.Content,
					)}, Finish: llmclient.FinishToolCalls},
				},
			})
		})
	}
}
