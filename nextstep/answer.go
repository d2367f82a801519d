package nextstep

import (
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Answer is the outcome of a step: exactly one of [APIResponse], [ToolResults], [DelegationResult],
// [Failure] and [Stop], as a value. Each carries Elapsed, the time the step took: it is set by
// whoever performed the step and summed by the Machine, so that a strategy needs no clock.
type Answer interface {
	// Answers reports whether this may answer a step of that kind.
	Answers(Kind) bool
	isAnswer()
}

// APIResponse answers [GetChatCompletion].
type APIResponse struct {
	Response *llmclient.Response `json:"response"` // not nil; read-only
	Elapsed  time.Duration       `json:"elapsed,omitzero"`
}

// ToolResults answers [ExecuteTools]: one result a call, in call order.
type ToolResults struct {
	Results []messages.ToolOutput `json:"results"`
	Elapsed time.Duration         `json:"elapsed,omitzero"`
	Spent   Spent                 `json:"spent,omitzero"` // by runs that the tools made

	// Calls are the calls as they were made, all of them, where a middleware changed their
	// arguments; nil otherwise.
	Calls []messages.ToolCall `json:"calls,omitempty"`
}

// Spent is what a step has used besides what its answer shows: by runs that were made within it
// (agents as tools), or before it was cut off.
type Spent struct {
	Steps      int            `json:"steps,omitempty"`
	ModelCalls int            `json:"model_calls,omitempty"`
	ToolCalls  int            `json:"tool_calls,omitempty"`
	Usage      messages.Usage `json:"usage,omitzero"`
}

// Add returns the sum.
func (s Spent) Add(t Spent) Spent {
	return Spent{
		Steps: s.Steps + t.Steps, ModelCalls: s.ModelCalls + t.ModelCalls, ToolCalls: s.ToolCalls + t.ToolCalls,
		Usage: s.Usage.Add(t.Usage),
	}
}

// DelegationResult answers a [Delegate] that was performed elsewhere.
type DelegationResult struct {
	Output  delegation.Output `json:"output"`
	Elapsed time.Duration     `json:"elapsed,omitzero"`
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

// Failure answers any step that could not be performed.
type Failure struct {
	Source   Source              `json:"source"`
	Code     delegation.Code     `json:"code"`
	Message  string              `json:"message"`
	Partial  messages.Assistant  `json:"partial,omitzero"`   // what had arrived of a reply that broke off
	Usage    messages.Usage      `json:"usage,omitzero"`     // what was billed all the same
	Attempts []llmclient.Attempt `json:"attempts,omitempty"` // what failed before, inside wrappers
	Elapsed  time.Duration       `json:"elapsed,omitzero"`

	// Err is the cause within the process that failed. It is never stored and never shown to a
	// strategy, so that a replay decides alike.
	Err error `json:"-"`
}

// Stop answers any step when the caller or a deadline stops the run.
type Stop struct {
	Reason  string                `json:"reason"`
	Partial messages.Assistant    `json:"partial,omitzero"`  // what had arrived of a reply that was cut off
	Results []messages.ToolOutput `json:"results,omitempty"` // of tools, in call order: finished, interrupted, or never started; nil if none was started
	Usage   messages.Usage        `json:"usage,omitzero"`    // what was billed all the same
	Elapsed time.Duration         `json:"elapsed,omitzero"`
	Spent   Spent                 `json:"spent,omitzero"` // model calls that were cut off, hidden attempts included, and what runs that tools made have used

	// Err is the cause within the process, as that of a Failure.
	Err error `json:"-"`
}

// Answers reports whether k is [KindGetChatCompletion].
func (APIResponse) Answers(k Kind) bool { return k == KindGetChatCompletion }

// Answers reports whether k is [KindExecuteTools].
func (ToolResults) Answers(k Kind) bool { return k == KindExecuteTools }

// Answers reports whether k is [KindDelegate].
func (DelegationResult) Answers(k Kind) bool { return k == KindDelegate }

// Answers reports whether k is a step that somebody performs.
func (Failure) Answers(k Kind) bool { return performed(k) }

// Answers reports whether k is a step that somebody performs.
func (Stop) Answers(k Kind) bool { return performed(k) }

func performed(k Kind) bool { return k != 0 && !k.Final() }

func (APIResponse) isAnswer()      {}
func (ToolResults) isAnswer()      {}
func (DelegationResult) isAnswer() {}
func (Failure) isAnswer()          {}
func (Stop) isAnswer()             {}
