package strategytest

import (
	"encoding/json"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
)

// answers lists the ways to answer a step.
func (e *explorer) answers(step nextstep.NextStep) []answer {
	switch step := step.(type) {
	case nextstep.GetChatCompletion:
		return append(e.replies(step.Request), e.failures()...)
	case nextstep.ExecuteTools:
		return batches()
	case nextstep.Delegate:
		return append(outputs(), e.failures()...)
	default:
		panic(fmt.Sprintf("strategytest: a %T is never pending", step))
	}
}

// replies lists possible replies of a model to a request.
func (e *explorer) replies(req llmclient.Request) []answer {
	list := []answer{
		reply("text", llmclient.FinishStop, messages.Text{Text: "an answer"}),
		reply("nothing", llmclient.FinishStop),
		reply("cut off text", llmclient.FinishLength, messages.Text{Text: "an ans"}),
		reply("withheld", llmclient.FinishContentFilter, messages.Text{Text: "an"}),
		reply("refusal", llmclient.FinishRefusal, messages.Text{Text: "no"}),
		reply("unknown call", llmclient.FinishToolCalls, call(0, "no_such_tool", "{}")),
	}
	for i, d := range req.Tools {
		if i == 2 { // more of a kind shows nothing new
			break
		}
		list = append(list,
			reply("call "+d.Name, llmclient.FinishToolCalls, messages.Text{Text: "so"}, call(0, d.Name, "{}")),
			reply("bad call "+d.Name, "", call(0, d.Name, `{"cut`)),
			reply("cut off calls "+d.Name, llmclient.FinishLength, call(0, d.Name, "{}"), call(1, d.Name, `{"cut`)),
		)
	}
	for i, r := range e.Replies {
		list = append(list, answer{fmt.Sprintf("reply %d", i), func(*machine.Effect) nextstep.Answer { return nextstep.APIResponse{Response: &r} }})
	}
	return list
}

func call(n int, name, args string) messages.ToolCall {
	return messages.ToolCall{ID: fmt.Sprintf("call_%d", n), Name: name, Arguments: args}
}

func reply(name string, finish llmclient.FinishReason, parts ...messages.AssistantContent) answer {
	return answer{name, func(*machine.Effect) nextstep.Answer {
		return nextstep.APIResponse{Response: &llmclient.Response{
			Message: messages.Assistant{Content: append([]messages.AssistantContent(nil), parts...)},
			Finish:  finish,
			Usage:   messages.Usage{Input: 3, Output: 2, Total: 5},
		}}
	}}
}

// batches lists the possible ends of tools.
func batches() []answer {
	var list []answer
	for _, status := range []messages.Status{messages.StatusOK, messages.StatusFailed, messages.StatusUnknown} {
		list = append(list, answer{"tools " + string(status), func(e *machine.Effect) nextstep.Answer {
			return nextstep.ToolResult{Output: messages.ToolOutput{CallID: e.Call.ID, ToolName: e.Call.Name, Status: status, Output: "tool output"}}
		}})
	}
	return list
}

// outputs lists the possible outputs of a child.
func outputs() []answer {
	result, empty := "a result", ""
	work := messages.History{messages.UserText("a part of the task"), messages.AssistantText(result)}
	var list []answer
	for name, out := range []delegation.Output{
		{Result: &result, Data: json.RawMessage(`"<data>"`), Messages: work, Parts: []delegation.Part{{Name: "1", After: 1, Messages: work}}},
		{Result: &empty},
		{},
		{Result: &result, Messages: work, Begin: 1, Err: &delegation.Error{Code: delegation.CodeFailed, Message: "the child failed"}},
		{Err: &delegation.Error{Code: delegation.CodeLimit, Message: "too deep"}},
	} {
		out.Counts.Steps = 1 // a child that reports nothing counts with all its limits
		list = append(list, answer{fmt.Sprintf("child %d", name), func(*machine.Effect) nextstep.Answer { return nextstep.DelegationResult{Output: out} }})
	}
	return list
}

// failures lists the possible failures of a step.
func (e *explorer) failures() []answer {
	var list []answer
	for _, code := range []llmclient.Code{llmclient.CodeUnavailable, llmclient.CodeMalformedToolCall} {
		list = append(list, answer{"failure " + string(code), func(*machine.Effect) nextstep.Answer {
			return nextstep.Failure{Source: nextstep.SourceModel, Code: delegation.Code(code), Message: "it did not work"}
		}})
	}
	for i, f := range e.Failures {
		list = append(list, answer{fmt.Sprintf("failure %d", i), func(*machine.Effect) nextstep.Answer { return f }})
	}
	return list
}
