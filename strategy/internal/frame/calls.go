package frame

import (
	"github.com/segue-go/segue/messages"
)

// EditCalls replaces the calls in the last message, which no request has contained yet, by changed
// ones. It returns them as they are in the message, or nil if the last message has none.
func EditCalls(h messages.History, calls []messages.ToolCall) []messages.ToolCall {
	a, ok := h.Last().(messages.Assistant)
	if !ok {
		return nil
	}
	edited := a.WithCalls(calls)
	h[len(h)-1] = edited
	return edited.Calls()
}

// NotRun returns the result of a call that is not run.
func NotRun(call messages.ToolCall, reason, output string) messages.Tool {
	return messages.Tool{ToolOutput: messages.ToolOutput{
		CallID: call.ID, ToolName: call.Name, Status: messages.StatusFailed, Reason: reason, Output: output,
	}}
}

// Results appends results as messages.
func Results(h messages.History, results []messages.ToolOutput) messages.History {
	for _, r := range results {
		h = append(h, messages.Tool{ToolOutput: r})
	}
	return h
}
