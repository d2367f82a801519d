package openaichat

import "github.com/segue-go/segue/messages"

// usage reads a usage object; any other value leaves u unchanged.
//
// Cached input is in prompt_tokens_details; DeepSeek has it in prompt_cache_hit_tokens, Moonshot
// beside the other counts. Input that was written to a cache is in prompt_tokens_details
// (OpenRouter), or in cache_creation_input_tokens beside the other counts. If the total is the sum
// of input, output and reasoning (xAI), the output does not include the reasoning.
func (d *decoder) usage(u *usage) {
	if d.Peek() != '{' {
		return
	}
	*u = usage{known: true}
	var hit, cached int64
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "prompt_tokens":
			u.Input = d.Count()
		case "completion_tokens":
			u.Output = d.Count()
		case "total_tokens":
			u.Total = d.Count()
		case "prompt_tokens_details":
			u.Cached, u.CacheWrites = d.cacheDetails(u.CacheWrites)
		case "completion_tokens_details":
			u.Reasoning = d.CountIn("reasoning_tokens")
		case "prompt_cache_hit_tokens":
			hit = d.Count()
		case "cached_tokens":
			cached = d.Count()
		case "cache_creation_input_tokens":
			u.CacheWrites = max(u.CacheWrites, d.Count())
		}
	}
	if u.Cached == 0 {
		u.Cached = max(hit, cached)
	}
	u.Usage = completed(u.Usage)
}

// completed adds the reasoning to an output that does not include it, and sets a missing total.
func completed(u messages.Usage) messages.Usage {
	if u.Reasoning > 0 && u.Total == u.Input+u.Output+u.Reasoning {
		u.Output += u.Reasoning
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}

// cacheDetails reads the tokens that were read from the cache and those that were written to it,
// which are at least writes.
func (d *decoder) cacheDetails(writes int64) (cached, written int64) {
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "cached_tokens":
			cached = d.Count()
		case "cache_write_tokens", "cache_creation_input_tokens":
			writes = max(writes, d.Count())
		}
	}
	return cached, writes
}
