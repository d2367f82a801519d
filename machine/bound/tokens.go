package bound

import (
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// tokens computes the bounds of tokens and cost.
type tokens struct {
	calls  Amount // of models
	atOnce int    // calls in progress at the same time, at most
}

// amount returns the bound of something of which one call uses so much at most; 0: not known. A
// limit is checked before each call: with any of it left, calls may begin, and only their replies
// tell what they use.
func (t tokens) amount(limit int64, name string, each int64) Amount {
	a := Amount{Most: Unbounded}
	if t.calls.Most == 0 {
		return Amount{Most: 0, By: t.calls.By}
	}
	if each > 0 && t.calls.Most != Unbounded {
		a = Amount{Most: shown(times(t.calls.Most, min(each, most))), By: t.calls.By}
	}
	if limit < 0 {
		return a
	}
	if each <= 0 {
		return Amount{Most: limit - 1, Above: t.atOnce, By: []Reason{{Limit: name}}}
	}
	reached := min(most, limit-1) + times(int64(t.atOnce), min(each, most))
	if a.Most == Unbounded || reached < a.Most {
		a = Amount{Most: shown(reached), By: []Reason{{Limit: name}}}
	}
	return a
}

// price returns what one call costs at most, at the dearest price; 0: not known.
func price(call messages.Usage, prices []llmclient.Price) (most messages.Cost) {
	if call.Input <= 0 || call.Output <= 0 {
		return 0
	}
	for _, p := range prices {
		p.Input = max(p.Input, p.CachedInput, p.CacheWrites) // it may all be from a cache or go there, or none of it
		p.CachedInput, p.CacheWrites = p.Input, p.Input
		most = max(most, p.Cost(call), 1) // a free call is not one of which nothing is known
	}
	return most
}
