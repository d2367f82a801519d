package llmclient

// KnownPrices returns prices of well-known models of OpenAI, for its standard tier. Those of input
// and output stood on pages of March 2026, most of them of third parties, read on 2026-11-22; those
// of cached input were checked against no page. Prices change, and what a provider bills is what
// counts: give your own where it matters. The map is the caller's.
func KnownPrices() Prices {
	return Prices{
		"gpt-5.1":      {Input: 1.25, CachedInput: 0.125, Output: 10},
		"gpt-5":        {Input: 1.25, CachedInput: 0.125, Output: 10},
		"gpt-5-mini":   {Input: 0.25, CachedInput: 0.025, Output: 2},
		"gpt-5-nano":   {Input: 0.05, CachedInput: 0.005, Output: 0.4},
		"gpt-4.1":      {Input: 2, CachedInput: 0.5, Output: 8},
		"gpt-4.1-mini": {Input: 0.4, CachedInput: 0.1, Output: 1.6},
		"gpt-4.1-nano": {Input: 0.1, CachedInput: 0.025, Output: 0.4},
		"gpt-4o":       {Input: 2.5, CachedInput: 1.25, Output: 10},
		"gpt-4o-mini":  {Input: 0.15, CachedInput: 0.075, Output: 0.6},
		"o3":           {Input: 2, CachedInput: 0.5, Output: 8},
		"o4-mini":      {Input: 1.1, CachedInput: 0.275, Output: 4.4},
		"o3-mini":      {Input: 1.1, CachedInput: 0.55, Output: 4.4},
	}
}
