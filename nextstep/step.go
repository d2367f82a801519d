package nextstep

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// NextStep is what a strategy wants done. It is exactly one of [GetChatCompletion], [ExecuteTools],
// [Delegate], [Complete] and [ReportError], as a value.
type NextStep interface {
	Kind() Kind
	isNextStep()
}

// GetChatCompletion asks a model.
//
// Within a frame a request extends the one before: it begins with the same messages, byte for byte,
// and offers the same tools ([llmclient.Request.Departure]). Providers keep what they have read,
// and bill it up to ten times less when a request begins with it again. A request that begins
// otherwise says so in Anew. Packages strategytest and explore hold strategies to this.
type GetChatCompletion struct {
	Request llmclient.Request `json:"request"`

	// Anew says in a few words why the request does not extend the last one of its frame; nil if it
	// does. It is shown in the event of the step, changes nothing else, and is read-only.
	Anew *string `json:"anew,omitempty"`

	// Aside says that the request is not part of the conversation of the frame, such as one for a
	// summary of it: its messages and the reply are not in the output of the frame, its reply has
	// no deltas, and no tools can be called in answer to it.
	Aside bool `json:"aside,omitempty"`

	// Compacted says that old messages of the conversation were summarized or left out before this
	// request; nil if not. It is shown in an event, changes nothing else, and is read-only. Such a
	// request has an Anew, too.
	Compacted *Compaction `json:"compacted,omitempty"`
}

// Compaction says how a conversation became shorter; see package strategy/compaction.
type Compaction struct {
	How    string `json:"how"`              // "summarize" or "trim"
	Why    string `json:"why,omitempty"`    // what made it necessary: "window", or "context_length", a refusal by the provider
	Failed string `json:"failed,omitempty"` // why there is no summary, where one was asked for
	From   int    `json:"from"`             // messages before
	Kept   int    `json:"kept"`             // messages of those that are still there
	Before int    `json:"before"`           // tokens of the request before, as estimated
	After  int    `json:"after"`            // tokens of the request now, as estimated
}

// ExecuteTools runs tools that the model called, if the last request offered them, or that the
// strategy calls by itself: with ids that stand in no reply, any tool that its frame may use. Calls
// must not be empty, and their ids must be different.
type ExecuteTools struct {
	Calls []messages.ToolCall `json:"calls"`
}

// Delegate runs another strategy as a child and waits for its output.
type Delegate struct {
	Strategy string            `json:"strategy"` // its name in the Set
	Input    delegation.Input  `json:"input"`    // everything that the child sees
	Tools    []string          `json:"tools"`    // names of tools for the child, out of the parent's; nil means all of the parent's
	Limits   delegation.Limits `json:"limits"`   // for the child's subtree, within the parent's limits; zero fields mean the parent's

	// Model is for the requests of the child's subtree that set none; "" means that of the parent.
	Model string `json:"model,omitempty"`
}

// Complete ends the frame with an output. With a Handoff the frame hands off instead: the
// Handoff takes its place on the stack, and its output goes where that of the frame would have
// gone. The Output of a frame that hands off is told in the event, and is otherwise dropped.
type Complete struct {
	Output  delegation.Output `json:"output"`
	Handoff *Handoff          `json:"successor,omitempty"` // nil: the frame ends for good; read-only
}

// Handoff is the strategy that takes the place of a frame that ends. It has what is left of the
// limits of the frame, and what the frame has used counts for both. A strategy may hand off to
// the Handoffs among its strategy.Names; to others is an error that fails the frame.
type Handoff struct {
	Strategy string           `json:"strategy"` // its name in the Set; no remote strategy
	Input    delegation.Input `json:"input"`    // everything that it sees
	Tools    []string         `json:"tools"`    // names of tools for it, out of those of the frame; nil means all of these
}

// ReportError ends the frame with an error.
type ReportError struct {
	Err    error             // becomes Output.Err, by delegation.AsError
	Output delegation.Output // the work done so far; without Messages, the messages of the frame are used
}

// Kind returns [KindGetChatCompletion].
func (GetChatCompletion) Kind() Kind { return KindGetChatCompletion }

// Kind returns [KindExecuteTools].
func (ExecuteTools) Kind() Kind { return KindExecuteTools }

// Kind returns [KindDelegate].
func (Delegate) Kind() Kind { return KindDelegate }

// Kind returns [KindComplete].
func (Complete) Kind() Kind { return KindComplete }

// Kind returns [KindReportError].
func (ReportError) Kind() Kind { return KindReportError }

func (GetChatCompletion) isNextStep() {}
func (ExecuteTools) isNextStep()      {}
func (Delegate) isNextStep()          {}
func (Complete) isNextStep()          {}
func (ReportError) isNextStep()       {}
