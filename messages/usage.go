package messages

// Usage counts tokens as a provider billed them. Cached and Reasoning are parts of Input and Output, not additions.
type Usage struct {
	Input     int64 `json:"input,omitempty"`
	Output    int64 `json:"output,omitempty"`
	Total     int64 `json:"total,omitempty"` // as the provider says; Input + Output where it does not
	Cached    int64 `json:"cached,omitempty"`
	Reasoning int64 `json:"reasoning,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:     u.Input + v.Input,
		Output:    u.Output + v.Output,
		Total:     u.Total + v.Total,
		Cached:    u.Cached + v.Cached,
		Reasoning: u.Reasoning + v.Reasoning,
	}
}
