package messages

import "math"

// Usage counts tokens as a provider billed them. Cached and Reasoning are parts of Input and
// Output, not additions.
type Usage struct {
	Input     int64 `json:"input,omitempty"`
	Output    int64 `json:"output,omitempty"`
	Total     int64 `json:"total,omitempty"` // as the provider says; Input + Output where it does not
	Cached    int64 `json:"cached,omitempty"`
	Reasoning int64 `json:"reasoning,omitempty"`
}

// Add returns the sum of both, each count at most what an int64 holds.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:     sum(u.Input, v.Input),
		Output:    sum(u.Output, v.Output),
		Total:     sum(u.Total, v.Total),
		Cached:    sum(u.Cached, v.Cached),
		Reasoning: sum(u.Reasoning, v.Reasoning),
	}
}

// sum adds counts without passing what an int64 holds: a provider's figures are a stranger's.
func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
