package anthropic

import "github.com/segue-go/segue/messages"

// usage are the counts of a usage object. The input has three parts: neither cached nor written to
// the cache, read from the cache, and written to it.
type usage struct {
	input, read, written, output, thinking int64
}

// usage reads a usage object; any other value leaves u unchanged.
func (d *decoder) usage(u *usage) {
	for more := d.Open('{'); more; more = d.More('}') {
		switch string(d.Name()) {
		case "input_tokens":
			u.input = d.Count()
		case "cache_read_input_tokens":
			u.read = d.Count()
		case "cache_creation_input_tokens":
			u.written = d.Count()
		case "output_tokens":
			u.output = d.Count()
		case "output_tokens_details":
			u.thinking = d.CountIn("thinking_tokens")
		}
	}
}

// add adds later counts. Counts of a stream are cumulative, so the greater one is the newer one;
// one that is missing does not count.
func (u *usage) add(v usage) {
	u.input, u.read, u.written = max(u.input, v.input), max(u.read, v.read), max(u.written, v.written)
	u.output, u.thinking = max(u.output, v.output), max(u.thinking, v.thinking)
}

// total returns the usage as this library counts: the cached parts of the input are in it.
func (u *usage) total() messages.Usage {
	input := u.input + u.read + u.written
	return messages.Usage{
		Input: input, Cached: u.read, CacheWrites: u.written, Output: u.output, Reasoning: u.thinking, Total: input + u.output,
	}
}
