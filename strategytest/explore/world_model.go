package explore

import (
	"strconv"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// closer is the number of offered tools that are called in every way. Each of the others is called
// once, alone: it must be called at all, but more ways would show nothing new.
const closer = 2

// ofModel returns the possible replies of a model that was offered these tools.
func (w *world) ofModel(offered []tools.Definition) []Reaction {
	w.offered = w.offered[:0]
	for i := range offered {
		w.offered = append(append(w.offered, offered[i].Name...), '\n')
	}
	list, known := w.models[string(w.offered)]
	if !known {
		list = modelWith(offered)
		if w.models == nil {
			w.models = map[string][]Reaction{}
		}
		w.models[string(w.offered)] = list
	}
	return list
}

// modelWith lists the possible replies of a model that was offered these tools.
func modelWith(offered []tools.Definition) []Reaction {
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
	for i := range offered {
		name := offered[i].Name
		list = append(list, Reply("call "+name, llmclient.FinishToolCalls, call(0, name, "{}")))
		if i >= closer {
			continue
		}
		list = append(list,
			Reply("text and call "+name, llmclient.FinishToolCalls, messages.Text{Text: "so"}, call(0, name, "{}")).AsOdd(),
			Reply("bad call "+name, llmclient.FinishStop, call(0, name, `{"cut`)).AsOdd(),
			Reply("cut off calls "+name, llmclient.FinishLength, call(0, name, "{}"), call(1, name, `{"cut`)).AsOdd(),
			Reply("two calls "+name, llmclient.FinishToolCalls, call(0, name, "{}"), call(1, name, "{}")).AsOdd(),
		)
	}
	if len(offered) >= closer {
		list = append(list, Reply("call both", llmclient.FinishToolCalls, call(0, offered[0].Name, "{}"), call(1, offered[1].Name, "{}")))
	}
	for _, code := range []llmclient.Code{
		llmclient.CodeUnavailable, llmclient.CodeRateLimited, llmclient.CodeTruncated, llmclient.CodeContextLength, llmclient.CodeAuth,
		llmclient.CodeContentFilter, llmclient.CodeMalformedToolCall, llmclient.CodeBadRequest, llmclient.CodeBadResponse,
	} {
		list = append(list, Answer("failure "+string(code), nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(code), Message: "it did not work"}).AsOdd())
	}
	return list
}

// call returns a call with a number in its reply.
func call(n int, tool, arguments string) messages.ToolCall {
	return messages.ToolCall{ID: "call" + strconv.Itoa(n), Name: tool, Arguments: arguments}
}
