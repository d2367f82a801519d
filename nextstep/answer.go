package nextstep

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Answer is the outcome of an effect of a step: exactly one of [APIResponse], [ToolResult],
// [DelegationResult] and [Failure], as a value. What the effect took of time stands on the record
// that holds the answer, so that a strategy needs no clock.
type Answer interface {
	// Answers reports whether this may answer a step of that kind.
	Answers(Kind) bool
	isAnswer()
}

// APIResponse answers [GetChatCompletion].
type APIResponse struct {
	Response *llmclient.Response `json:"response"` // not nil; read-only
}

// ToolResult answers one call of an [ExecuteTools]. The strategy is given the results of all calls
// together, in call order.
type ToolResult struct {
	Output messages.ToolOutput `json:"output"`

	// Call is the call as it was made, where a middleware changed its arguments; nil otherwise.
	Call *messages.ToolCall `json:"call,omitempty"`
}

// DelegationResult answers a [Delegate] that was performed elsewhere.
type DelegationResult struct {
	Output delegation.Output `json:"output"`
}

// Source says where a [Failure] comes from.
type Source string

// The sources.
const (
	SourceModel    Source = "model"
	SourceTool     Source = "tool"
	SourceStrategy Source = "strategy"
	SourceLimit    Source = "limit"
)

// Failure answers an effect that could not be performed, or that was cut off. It is data: the cause
// stays in the process that failed, so that a replay decides alike.
type Failure struct {
	Source   Source              `json:"source"`
	Code     delegation.Code     `json:"code"`
	Message  string              `json:"message"`
	Model    string              `json:"model,omitempty"`    // the model that was asked, where the client says which
	Partial  messages.Assistant  `json:"partial,omitzero"`   // what had arrived of a reply that broke off
	Usage    messages.Usage      `json:"usage,omitzero"`     // what was billed all the same
	Attempts []llmclient.Attempt `json:"attempts,omitempty"` // what failed before, inside wrappers
}

// Answers reports whether k is [KindGetChatCompletion].
func (APIResponse) Answers(k Kind) bool { return k == KindGetChatCompletion }

// Answers reports whether k is [KindExecuteTools].
func (ToolResult) Answers(k Kind) bool { return k == KindExecuteTools }

// Answers reports whether k is [KindDelegate].
func (DelegationResult) Answers(k Kind) bool { return k == KindDelegate }

// Answers reports whether k is a step that somebody performs.
func (Failure) Answers(k Kind) bool { return performed(k) }

func performed(k Kind) bool { return k != 0 && !k.Final() }

func (APIResponse) isAnswer()      {}
func (ToolResult) isAnswer()       {}
func (DelegationResult) isAnswer() {}
func (Failure) isAnswer()          {}
