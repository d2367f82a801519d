package machine

import (
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// defaultLimits hold for each field of a run's limits that is zero, as delegation.Limits says.
var defaultLimits = delegation.Limits{
	Depth:        16,
	Steps:        1000,
	ModelCalls:   500,
	ToolCalls:    2000,
	InputTokens:  -1,
	OutputTokens: -1,
	TotalTokens:  -1,
}

// noLimits are the own limits of a frame that was given none: those above it still hold.
var noLimits = delegation.Limits{Depth: -1, Steps: -1, ModelCalls: -1, ToolCalls: -1, InputTokens: -1, OutputTokens: -1, TotalTokens: -1}

// overlay returns the limits with each zero field taken from base.
func overlay(l, base delegation.Limits) delegation.Limits {
	return delegation.Limits{
		Depth:        either(l.Depth, base.Depth),
		Steps:        either(l.Steps, base.Steps),
		ModelCalls:   either(l.ModelCalls, base.ModelCalls),
		ToolCalls:    either(l.ToolCalls, base.ToolCalls),
		InputTokens:  either(l.InputTokens, base.InputTokens),
		OutputTokens: either(l.OutputTokens, base.OutputTokens),
		TotalTokens:  either(l.TotalTokens, base.TotalTokens),
	}
}

func either[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// counts are what an effect reserves.
type counts = delegation.Counts

// tally is what a frame and everything below it has used.
type tally struct {
	counts
	usage   messages.Usage
	elapsed time.Duration
}

// charge adds what was used to frame f and to all above it; counts may be negative, when they are
// given back.
func (m *Machine) charge(f *frame, t *tally) {
	tokens := t.usage != (messages.Usage{})
	for ; f != nil; f = f.up {
		u := &f.used
		u.Steps += t.Steps
		u.ModelCalls += t.ModelCalls
		u.ToolCalls += t.ToolCalls
		u.elapsed += t.elapsed
		if tokens {
			u.usage = u.usage.Add(t.usage)
		}
	}
}

// refund gives back what an effect reserved that was not begun.
func (m *Machine) refund(e *effect) {
	r := e.reserved
	e.reserved = counts{}
	m.charge(e.frame, &tally{counts: counts{Steps: -r.Steps, ModelCalls: -r.ModelCalls, ToolCalls: -r.ToolCalls}})
}

// giveBack is refund for an effect that ends without a result of its own: what somebody has begun
// is not given back.
func (m *Machine) giveBack(e *effect) {
	if !e.begun {
		m.refund(e)
	}
}

// reserve takes a step of frame f, with so many calls, if f and every frame above it can afford it.
// Else it returns what ends the highest that cannot.
func (m *Machine) reserve(f *frame, modelCalls, toolCalls int) *ending {
	if over := m.passed(f, modelCalls, toolCalls); over != nil {
		return over
	}
	m.seq++
	f.seq = m.seq
	m.charge(f, &tally{counts: counts{Steps: 1, ModelCalls: modelCalls, ToolCalls: toolCalls}})
	return nil
}

// passed returns what ends the highest frame, from f on, whose limits one more step would pass.
func (m *Machine) passed(f *frame, modelCalls, toolCalls int) (over *ending) {
	for g := f; g != nil; g = g.up {
		if limit, most := g.used.passed(&g.limits, modelCalls, toolCalls); limit != "" {
			over = m.limitReached(g, limit, most)
		}
	}
	return over
}

// spentTokens returns what ends the highest frame whose tokens are used up, now that an effect is
// to be released that was reserved before; nil if there are some left, or it takes none.
func (m *Machine) spentTokens(e *effect) (over *ending) {
	if e.kind == EffectTool {
		return nil
	}
	for g := e.frame; g != nil; g = g.up {
		if limit, most := g.used.tokensPassed(&g.limits); limit != "" {
			over = m.limitReached(g, limit, most)
		}
	}
	return over
}

func (m *Machine) limitReached(f *frame, limit string, most int64) *ending {
	err := &LimitError{Run: m.run, Frame: f.name, Limit: limit, Max: most}
	return &ending{frame: f, reason: err.Error(), err: delegation.NewError(delegation.CodeLimit, err)}
}

// passed names the first limit that one more step would pass; "" if it may be taken.
func (t *tally) passed(l *delegation.Limits, modelCalls, toolCalls int) (string, int64) {
	switch {
	case l.Steps >= 0 && t.Steps+1 > l.Steps:
		return "steps", int64(l.Steps)
	case modelCalls > 0 && l.ModelCalls >= 0 && t.ModelCalls+modelCalls > l.ModelCalls:
		return "model_calls", int64(l.ModelCalls)
	case toolCalls > 0 && l.ToolCalls >= 0 && t.ToolCalls+toolCalls > l.ToolCalls:
		return "tool_calls", int64(l.ToolCalls)
	case modelCalls > 0:
		return t.tokensPassed(l)
	}
	return "", 0
}

// tokensPassed names the first limit whose tokens are used up. How many a call will take is not
// known before: none is made once they are.
func (t *tally) tokensPassed(l *delegation.Limits) (string, int64) {
	switch {
	case l.InputTokens >= 0 && t.usage.Input >= l.InputTokens:
		return "input_tokens", l.InputTokens
	case l.OutputTokens >= 0 && t.usage.Output >= l.OutputTokens:
		return "output_tokens", l.OutputTokens
	case l.TotalTokens >= 0 && t.usage.Total >= l.TotalTokens:
		return "total_tokens", l.TotalTokens
	}
	return "", 0
}

// left returns what f, and all above it, have left of each limit for something that starts one
// frame deeper; negative: there is no limit.
func (f *frame) left() delegation.Limits {
	all := noLimits
	for g, deep := f, 1; g != nil; g, deep = g.up, deep+1 {
		l, u := &g.limits, &g.used
		all = delegation.Limits{
			Depth:        lesser(all.Depth, l.Depth, deep),
			Steps:        lesser(all.Steps, l.Steps, u.Steps),
			ModelCalls:   lesser(all.ModelCalls, l.ModelCalls, u.ModelCalls),
			ToolCalls:    lesser(all.ToolCalls, l.ToolCalls, u.ToolCalls),
			InputTokens:  lesser(all.InputTokens, l.InputTokens, u.usage.Input),
			OutputTokens: lesser(all.OutputTokens, l.OutputTokens, u.usage.Output),
			TotalTokens:  lesser(all.TotalTokens, l.TotalTokens, u.usage.Total),
		}
	}
	return all
}

// lesser returns the smaller of what is left and what is left of another limit.
func lesser[N int | int64](left, limit, used N) N {
	if limit < 0 {
		return left
	}
	rest := max(0, limit-used)
	if left < 0 {
		return rest
	}
	return min(left, rest)
}

// share returns the limits of a remote child: those it is given, within what is left.
func (f *frame) share(given delegation.Limits) delegation.Limits {
	rest, own := f.left(), overlay(given, noLimits)
	return delegation.Limits{
		Depth:        tighter(rest.Depth, own.Depth),
		Steps:        tighter(rest.Steps, own.Steps),
		ModelCalls:   tighter(rest.ModelCalls, own.ModelCalls),
		ToolCalls:    tighter(rest.ToolCalls, own.ToolCalls),
		InputTokens:  tighter(rest.InputTokens, own.InputTokens),
		OutputTokens: tighter(rest.OutputTokens, own.OutputTokens),
		TotalTokens:  tighter(rest.TotalTokens, own.TotalTokens),
	}
}

// tighter returns the smaller of two limits, of which a negative one is none.
func tighter[N int | int64](a, b N) N {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// asked is what a model call has used besides itself, which was reserved: the attempts hidden
// behind it, and tokens.
func asked(u messages.Usage, attempts []llmclient.Attempt, elapsed time.Duration) tally {
	t := tally{usage: whole(u), elapsed: elapsed}
	t.ModelCalls = len(attempts)
	for _, a := range attempts {
		t.usage = t.usage.Add(whole(a.Usage))
	}
	return t
}

// whole fills in the total where a provider gave none.
func whole(u messages.Usage) messages.Usage {
	if u.Total == 0 {
		u.Total = messages.Usage{Total: u.Input}.Add(messages.Usage{Total: u.Output}).Total
	}
	return u
}

// chargeRemote takes back what a remote was handed, and charges what it says it has used. One that
// says nothing is taken to have used it all.
func (m *Machine) chargeRemote(e *effect, out *delegation.Output, elapsed time.Duration) {
	if out.Counts != (delegation.Counts{}) {
		m.refund(e)
	}
	m.charge(e.frame, &tally{counts: out.Counts, usage: whole(out.Usage), elapsed: elapsed})
}

// remoteCounts is what a remote reserves of what it is handed.
func remoteCounts(l delegation.Limits) counts {
	return counts{Steps: max(0, l.Steps), ModelCalls: max(0, l.ModelCalls), ToolCalls: max(0, l.ToolCalls)}
}
