package bound

import (
	"cmp"
	"slices"

	"github.com/segue-go/segue/delegation"
)

// names are the limits on the shared quantities, by their JSON names.
var names = [shared]string{modelCalls: "model_calls", toolCalls: "tool_calls", steps: "steps"}

// reasons returns why a frame uses no more than n of a quantity: a limit that alone allows no more,
// or the limits without each of which it could be more. If its limits do not matter, these are the
// reasons of its strategy and of what it starts.
func (p *program) reasons(q quantity, n int64, parts ...*subtree) []Reason {
	if n >= most {
		return nil
	}
	if p.limits == noLimits || p.under(q, func(quantity) bool { return false }) == n {
		return inherited(q, parts)
	}
	var all []Reason
	for _, only := range [...]quantity{q, modelCalls, toolCalls, steps} {
		if p.under(q, func(limit quantity) bool { return limit == only }) == n {
			return []Reason{{Limit: names[only], Of: p.of[only]}}
		}
	}
	for without := range quantity(shared) {
		if p.under(q, func(limit quantity) bool { return limit != without }) > n {
			all = addReason(all, Reason{Limit: names[without], Of: p.of[without]})
		}
	}
	return all
}

// under returns the most of a quantity under some of the limits.
func (p *program) under(q quantity, applies func(limit quantity) bool) int64 {
	other := *p
	for limit := range quantity(shared) {
		if !applies(limit) {
			other.limits[limit] = most
		}
	}
	return other.largest(q)
}

// inherited returns the reasons of strategies, and those of the parts that they start.
func inherited(q quantity, parts []*subtree) []Reason {
	all := []Reason{{}}
	for _, p := range parts {
		for _, r := range p.by[q] {
			all = addReason(all, r)
		}
	}
	return all
}

// addReason adds a reason to sorted ones.
func addReason(all []Reason, r Reason) []Reason {
	i, found := slices.BinarySearchFunc(all, r, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Of, b.Of))
	})
	if found {
		return all
	}
	return slices.Insert(slices.Clip(all), i, r)
}

// amount returns what the run uses of a quantity, as the subtree of its root.
func (s *subtree) amount(q quantity) Amount {
	a := Amount{Most: shown(s.n[q]), By: s.by[q]}
	if s.cut && slices.Contains(a.By, Reason{}) {
		a.By = addReason(a.By, Reason{Limit: "depth"})
	}
	return a
}

// deep returns the depth of the run.
func (s *subtree) deep(l delegation.Limits) Amount {
	switch {
	case s.depth >= most:
		return Amount{Most: Unbounded}
	case l.Depth >= 0 && s.depth == int64(l.Depth) && s.cut:
		return Amount{Most: s.depth, By: []Reason{{Limit: "depth"}}}
	default:
		return Amount{Most: s.depth, By: []Reason{{}}}
	}
}
