package bound

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// tokens computes the bounds of tokens and cost. A limit on them is checked before each call: with
// any of it left, calls may begin, and only their replies tell what they use.
type tokens struct {
	limits delegation.Limits
	call   messages.Usage // what one call uses at most; 0: not known
	calls  Amount
	atOnce int // calls in progress at the same time, at most
}

func (t tokens) input() Amount {
	return t.amount(t.limits.InputTokens, "input_tokens", t.call.Input)
}

func (t tokens) output() Amount {
	return t.amount(t.limits.OutputTokens, "output_tokens", t.call.Output)
}

func (t tokens) total() Amount {
	both := t.call.Total
	if both == 0 && t.call.Input > 0 && t.call.Output > 0 {
		both = t.call.Input + t.call.Output
	}
	return t.amount(t.limits.TotalTokens, "total_tokens", both)
}

// amount returns the bound of something of which one call uses so much at most; 0: not known.
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

// cost returns the bound of the cost, from its own limit or from the tokens at the dearest price.
func (t tokens) cost(b *Bound, prices []llmclient.Price) Amount {
	var each, all messages.Cost
	known := t.call.Input > 0 && t.call.Output > 0 && len(prices) > 0
	whole := len(prices) > 0 && t.calls.Most >= 0 && b.InputTokens.Most >= 0 && b.OutputTokens.Most >= 0 && b.InputTokens.Above+b.OutputTokens.Above == 0
	for _, p := range prices {
		p.Input = max(p.Input, p.CachedInput, p.CacheWrites) // it may all be from a cache or go there, or none of it
		p.CachedInput, p.CacheWrites = p.Input, p.Input
		each = max(each, p.Cost(t.call))
		all = max(all, p.Cost(messages.Usage{Input: b.InputTokens.Most, Output: b.OutputTokens.Most}))
	}
	if !known {
		each = 0
	}
	all = all.Add(messages.Cost(max(0, t.calls.Most+1) / 2)) // the cost of each call is rounded
	a := t.amount(int64(t.limits.Cost), "cost", int64(each))
	if whole && (a.Most == Unbounded || a.Above > 0 || int64(all) < a.Most) {
		a = Amount{Most: int64(all)}
		for _, r := range append(b.InputTokens.By, b.OutputTokens.By...) {
			a.By = addReason(a.By, r)
		}
	}
	return a
}
