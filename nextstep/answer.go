package nextstep

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Answer is the outcome of an effect of a step. It is exactly one of [APIResponse], [ToolResult],
// [DelegationResult] and [Failure], as a value. The record that holds an answer also holds the time
// that the effect took, so that a strategy needs no clock.
type Answer interface {
	// Answers reports whether this may answer a step of that kind.
	Answers(Kind) bool
	isAnswer()
}

// APIResponse answers [GetChatCompletion].
type APIResponse struct {
	Response *llmclient.Response `json:"response"` // not nil; read-only
}

// ToolResult answers one call of an [ExecuteTools]. The strategy receives the results of all calls
// together, in call order. The Reason of an output may tell it what to do besides:
// [messages.ReasonLimit], [messages.ReasonRepetition] and [messages.ReasonSame].
type ToolResult struct {
	Output messages.ToolOutput `json:"output"`

	// Call is the call that was actually made, if a middleware changed its arguments, and nil
	// otherwise.
	Call *messages.ToolCall `json:"call,omitempty"`
}

// DelegationResult answers a [Delegate] that was performed by another service.
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

// Failure answers an effect that could not be performed or was cut off. It is pure data: the cause
// stays in the process that failed, so that a replay makes the same decisions.
type Failure struct {
	Source   Source              `json:"source"`
	Code     delegation.Code     `json:"code"`
	Message  string              `json:"message"`
	Model    string              `json:"model,omitempty"`    // the model that was asked, where the client says which
	Partial  messages.Assistant  `json:"partial,omitzero"`   // the received part of a reply that broke off
	Usage    messages.Usage      `json:"usage,omitzero"`     // tokens that were billed nevertheless
	Attempts []llmclient.Attempt `json:"attempts,omitempty"` // earlier failures, inside wrappers
}

// Answers reports whether k is [KindGetChatCompletion].
func (APIResponse) Answers(k Kind) bool { return k == KindGetChatCompletion }

// Answers reports whether k is [KindExecuteTools].
func (ToolResult) Answers(k Kind) bool { return k == KindExecuteTools }

// Answers reports whether k is [KindDelegate].
func (DelegationResult) Answers(k Kind) bool { return k == KindDelegate }

// Answers reports whether k is a kind of step that has an effect.
func (Failure) Answers(k Kind) bool { return performed(k) }

func performed(k Kind) bool { return k != 0 && !k.Final() }

func (APIResponse) isAnswer()      {}
func (ToolResult) isAnswer()       {}
func (DelegationResult) isAnswer() {}
func (Failure) isAnswer()          {}
