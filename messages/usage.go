package messages

import "math"

// Usage counts tokens as billed by a provider. Cached and CacheWrites are parts of Input, and
// Reasoning is a part of Output; none is added to them.
type Usage struct {
	Input     int64 `json:"input,omitempty"`
	Output    int64 `json:"output,omitempty"`
	Total     int64 `json:"total,omitempty"`  // as reported by the provider, or else Input + Output
	Cached    int64 `json:"cached,omitempty"` // read from the provider's cache
	Reasoning int64 `json:"reasoning,omitempty"`

	CacheWrites int64 `json:"cache_writes,omitempty"` // written to the provider's cache, where it says so
	Estimated   int64 `json:"estimated,omitempty"`    // the part of Total that no provider has counted: a reply broke off
}

// Add returns the sums of the counts, each limited to the range of an int64.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:     sum(u.Input, v.Input),
		Output:    sum(u.Output, v.Output),
		Total:     sum(u.Total, v.Total),
		Cached:    sum(u.Cached, v.Cached),
		Reasoning: sum(u.Reasoning, v.Reasoning),

		CacheWrites: sum(u.CacheWrites, v.CacheWrites),
		Estimated:   sum(u.Estimated, v.Estimated),
	}
}

// sum adds counts without overflow. The counts come from a provider and may be any number.
func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
