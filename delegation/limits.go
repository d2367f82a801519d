package delegation

import (
	"time"

	"github.com/segue-go/segue/messages"
)

// Limits bound a run or a subtree of it. Zero means the default, negative means no limit.
//
// They are shared by the whole tree: what a child uses, its parents have used. A limit may be
// reached, never passed: the step that would pass it is not performed. Tokens and Cost are known
// only when a reply is there: no model is asked once they are used up, and the replies that are on
// their way then may pass them. That is one reply, and one for each agent that works beside others.
//
// Duration counts from the beginning of the run or subtree, and is looked at when a step is to be
// made: what is in progress then is not cut off. The time in which only people could bring the run
// further is not counted, nor is the time in which no process worked on it. How late it is says the
// time of the last record of the run.
//
// Whatever Steps says, a frame ends at a limit once 10,000 steps in a row have needed neither a
// model nor a tool, such as delegations and calls of what is not offered.
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
}
