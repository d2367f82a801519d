package delegation

import (
	"fmt"
	"strings"
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
// The calls of a reply that exceed ToolCalls are answered once: the result of each names the limit,
// and the strategy may ask its model for a last answer. The run ends with the error of the limit
// nevertheless. Other limits end a frame at once.
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

// String names each limit, as in the JSON form, with its amount: "steps 1000, cost no limit".
func (l Limits) String() string {
	var parts []string
	add := func(name string, none bool, amount any) {
		if none {
			amount = "no limit"
		}
		parts = append(parts, fmt.Sprint(name, " ", amount))
	}
	add("depth", l.Depth < 0, l.Depth)
	add("steps", l.Steps < 0, l.Steps)
	add("model_calls", l.ModelCalls < 0, l.ModelCalls)
	add("tool_calls", l.ToolCalls < 0, l.ToolCalls)
	add("input_tokens", l.InputTokens < 0, l.InputTokens)
	add("output_tokens", l.OutputTokens < 0, l.OutputTokens)
	add("total_tokens", l.TotalTokens < 0, l.TotalTokens)
	add("cost", l.Cost < 0, l.Cost)
	add("duration", l.Duration < 0, l.Duration)
	add("handoffs", l.Handoffs < 0, l.Handoffs)
	return strings.Join(parts, ", ")
}
