package explore

import (
	"strconv"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// ofModel returns what a model can do that was offered these tools.
func (w *world) ofModel(offered []tools.Definition) []Reaction {
	var names [2]string // more of a kind shows nothing new
	for i := range min(len(offered), len(names)) {
		names[i] = offered[i].Name
	}
	if list, ok := w.models[names]; ok {
		return list
	}
	list := []Reaction{
		Reply("text", llmclient.FinishStop, messages.Text{Text: "an answer"}),
		Reply("nothing", llmclient.FinishStop).AsOdd(),
		Reply("thought", llmclient.FinishStop, messages.Thought{Text: "let me see"}).AsOdd(),
		Reply("cut off text", llmclient.FinishLength, messages.Text{Text: "an ans"}).AsOdd(),
		Reply("withheld", llmclient.FinishContentFilter, messages.Text{Text: "an"}).AsOdd(),
		Reply("refusal", llmclient.FinishRefusal, messages.Text{Text: "no"}).AsOdd(),
		Reply("good JSON", llmclient.FinishStop, messages.Text{Text: `{"answer":"yes"}`}),
		Reply("bad JSON", llmclient.FinishStop, messages.Text{Text: `{"answer":"ye`}).AsOdd(),
		Reply("unknown call", llmclient.FinishToolCalls, call(0, "no_such_tool", "{}")).AsOdd(),
	}
	for _, name := range names {
		if name == "" {
			break
		}
		list = append(list,
			Reply("call "+name, llmclient.FinishToolCalls, call(0, name, "{}")),
			Reply("text and call "+name, llmclient.FinishToolCalls, messages.Text{Text: "so"}, call(0, name, "{}")).AsOdd(),
			Reply("bad call "+name, llmclient.FinishStop, call(0, name, `{"cut`)).AsOdd(),
			Reply("cut off calls "+name, llmclient.FinishLength, call(0, name, "{}"), call(1, name, `{"cut`)).AsOdd(),
			Reply("two calls "+name, llmclient.FinishToolCalls, call(0, name, "{}"), call(1, name, "{}")).AsOdd(),
		)
	}
	if names[1] != "" {
		list = append(list, Reply("call both", llmclient.FinishToolCalls, call(0, names[0], "{}"), call(1, names[1], "{}")))
	}
	for _, code := range []llmclient.Code{
		llmclient.CodeUnavailable, llmclient.CodeRateLimited, llmclient.CodeTruncated, llmclient.CodeContextLength, llmclient.CodeAuth,
		llmclient.CodeContentFilter, llmclient.CodeMalformedToolCall, llmclient.CodeBadRequest, llmclient.CodeBadResponse,
	} {
		list = append(list, Answer("failure "+string(code), nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(code), Message: "it did not work"}).AsOdd())
	}
	if w.models == nil {
		w.models = map[[2]string][]Reaction{}
	}
	w.models[names] = list
	return list
}

// call returns a call with a number in its reply.
func call(n int, tool, arguments string) messages.ToolCall {
	return messages.ToolCall{ID: "call" + strconv.Itoa(n), Name: tool, Arguments: arguments}
}
