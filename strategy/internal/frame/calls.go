package frame

import (
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

// NotRun returns the result of a call that is not run.
func NotRun(call messages.ToolCall, reason, output string) messages.Tool {
	return messages.Tool{ToolOutput: messages.ToolOutput{
		CallID: call.ID, ToolName: call.Name, Status: messages.StatusFailed, Reason: reason, Output: output,
	}}
}

// MustConclude returns the reason why a strategy may make no more calls after the last results of a
// conversation, behind which only user messages may stand: [messages.ReasonLimit],
// [messages.ReasonRepetition], or "".
func MustConclude(h messages.History) string {
	for _, m := range slices.Backward(h) {
		switch m := m.(type) {
		case messages.User:
		case messages.Tool:
			if m.Reason == messages.ReasonLimit || m.Reason == messages.ReasonRepetition {
				return m.Reason
			}
		default:
			return ""
		}
	}
	return ""
}

// LimitReached returns the error of a strategy that concludes for a reason of [MustConclude], or
// else because of the limit of its Config that the text names.
func LimitReached(pkg, why, limit string) *delegation.Error {
	switch why {
	case messages.ReasonLimit:
		limit = "of tool calls"
	case messages.ReasonRepetition:
		return &delegation.Error{Code: delegation.CodeRepetition, Message: pkg + ": the model made the same call again and again, with the same result"}
	}
	return &delegation.Error{Code: delegation.CodeLimit, Message: pkg + ": the limit " + limit + " is reached"}
}

// Results appends results as messages.
func Results(h messages.History, results []messages.ToolOutput) messages.History {
	for _, r := range results {
		h = append(h, messages.Tool{ToolOutput: r})
	}
	return h
}
