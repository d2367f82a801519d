package delegation

import (
	"time"

	"github.com/segue-go/segue/messages"
)

// Limits bound a run or a subtree of it. Zero means the default, negative means no limit.
//
// Limits are shared by the whole tree: what a child uses counts for its parents, too. A limit may
// be reached but not exceeded: a step that would exceed it is not performed. Tokens and Cost are
// the exception. They are known only after a reply; once they are used up, no model is called, but
// replies that are on their way then may exceed them: one, and one for each agent that works beside
// others.
//
// Duration counts from the beginning of the run or subtree. It is checked before each step; work in
// progress is not cut off. Two kinds of time do not count: time in which the run only waits for
// people, and time in which no process works on the run. The time of the last record of the run
// shows by how much Duration was exceeded.
//
// A handoff counts as a step, too. Handoffs bounds strategies that hand off to each other in a
// circle.
//
// Regardless of Steps, a frame reaches a limit after 10,000 consecutive steps that need neither a
// model nor a tool, such as delegations and calls of tools that are not offered.
type Limits struct {
	Depth        int   `json:"depth,omitempty"`         // frames on the stack; default 16. Reaching it fails the child, not the run
	Steps        int   `json:"steps,omitempty"`         // steps performed; default 1000
	ModelCalls   int   `json:"model_calls,omitempty"`   // requests to models, hidden retries included; default 500
	ToolCalls    int   `json:"tool_calls,omitempty"`    // tool calls started; default 2000
	InputTokens  int64 `json:"input_tokens,omitempty"`  // default none
	OutputTokens int64 `json:"output_tokens,omitempty"` // default none
	TotalTokens  int64 `json:"total_tokens,omitempty"`  // default none

	Cost     messages.Cost `json:"cost,omitempty"`     // millionths of a dollar, such as 2*messages.Dollar; default none. A model without a price costs nothing
	Duration time.Duration `json:"duration,omitempty"` // default none
	Handoffs int           `json:"handoffs,omitempty"` // frames that end by naming a successor; default 16
}
