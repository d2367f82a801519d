package machine

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// amounts holds a number for each limit of delegation.Limits, in the order of its fields.
type amounts [10]int64

// The indexes of the limits.
const (
	depth = iota
	steps
	modelCalls
	toolCalls
	inputTokens
	outputTokens
	totalTokens
	cost
	duration
	handoffs
)

var limitNames = [...]string{"depth", "steps", "model_calls", "tool_calls", "input_tokens", "output_tokens", "total_tokens", "cost", "duration", "handoffs"}

// defaultLimits replace zero limits of a run, as delegation.Limits says.
var defaultLimits = amounts{16, 1000, 500, 2000, -1, -1, -1, -1, -1, 16}

// noLimits are the limits of a frame that was given none; the limits above it still apply.
var noLimits = amounts{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

func amountsOf(l delegation.Limits) amounts {
	return amounts{
		int64(l.Depth), int64(l.Steps), int64(l.ModelCalls), int64(l.ToolCalls), l.InputTokens, l.OutputTokens, l.TotalTokens,
		int64(l.Cost), int64(l.Duration), int64(l.Handoffs),
	}
}

func (a amounts) limits() delegation.Limits {
	return delegation.Limits{
		Depth: int(a[depth]), Steps: int(a[steps]), ModelCalls: int(a[modelCalls]), ToolCalls: int(a[toolCalls]),
		InputTokens: a[inputTokens], OutputTokens: a[outputTokens], TotalTokens: a[totalTokens],
		Cost: messages.Cost(a[cost]), Duration: time.Duration(a[duration]), Handoffs: int(a[handoffs]),
	}
}

// or returns the amounts, with zeros replaced by the values of base.
func (a amounts) or(base amounts) amounts {
	for i := range a {
		a[i] = cmp.Or(a[i], base[i])
	}
	return a
}

// tighter returns the smaller of each pair of limits; a negative limit is none.
func (a amounts) tighter(b amounts) amounts {
	for i := range a {
		if a[i] < 0 || b[i] >= 0 && b[i] < a[i] {
			a[i] = b[i]
		}
	}
	return a
}

// usage is what a frame and everything below it has used.
type usage struct {
	delegation.Counts
	tokens   messages.Usage
	cost     messages.Cost
	unpriced int
	elapsed  time.Duration
}

// usedBy returns how much of each limit a frame and all frames below it have used; depth is never
// used.
func (m *Machine) usedBy(f *frame) amounts {
	u := &f.used
	return amounts{
		steps: int64(u.Steps), modelCalls: int64(u.ModelCalls), toolCalls: int64(u.ToolCalls),
		inputTokens: u.tokens.Input, outputTokens: u.tokens.Output, totalTokens: u.tokens.Total,
		cost: int64(u.cost), duration: int64(m.active - f.began), handoffs: int64(u.Handoffs),
	}
}

// passTime adds the time until a record to the active time of the run, unless the run was waiting
// for people.
func (m *Machine) passTime(at time.Time) {
	busy := m.states[judged] + m.states[queued] + m.placed()
	waits := busy == 0 && m.states[waiting]+m.states[asking] > 0
	if passed := at.Sub(m.now); passed > 0 && m.records > 0 && !waits {
		m.active += passed
	}
}

// charge adds usage to frame f and to all frames above it; negative counts return usage.
func (m *Machine) charge(f *frame, used *usage) {
	tokens := used.tokens != (messages.Usage{})
	for ; f != nil; f = f.up {
		u := &f.used
		u.Steps = sum(u.Steps, used.Steps)
		u.ModelCalls = sum(u.ModelCalls, used.ModelCalls)
		u.ToolCalls = sum(u.ToolCalls, used.ToolCalls)
		u.Handoffs = sum(u.Handoffs, used.Handoffs)
		u.elapsed += used.elapsed
		u.unpriced = sum(u.unpriced, used.unpriced)
		if used.cost != 0 {
			u.cost = u.cost.Add(used.cost)
		}
		if tokens {
			u.tokens = u.tokens.Add(used.tokens)
		}
	}
}

// sum adds a count without overflow: a remote may report any number.
func sum(a, b int) int {
	if b > 0 && a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// refund gives back the reservation of an effect that was never begun.
func (m *Machine) refund(e *effect) {
	r := e.reserved
	e.reserved = delegation.Counts{}
	m.charge(e.frame, &usage{Counts: delegation.Counts{Steps: -r.Steps, ModelCalls: -r.ModelCalls, ToolCalls: -r.ToolCalls, Handoffs: -r.Handoffs}})
}

// refundUnbegun is refund for an effect that ends without its own result, but only if the effect
// was never begun.
func (m *Machine) refundUnbegun(e *effect) {
	if !e.begun {
		m.refund(e)
	}
}

// reserve reserves a step of frame f with so many calls, if the limits of f and of every frame
// above it allow it. Otherwise it returns the ending of the highest frame whose limit does not.
func (m *Machine) reserve(f *frame, models, calls int) *ending {
	if limit := m.reached(f, stepOf(models, calls)); limit != nil {
		return limit
	}
	m.seq++
	f.seq = m.seq
	m.charge(f, &usage{Counts: delegation.Counts{Steps: 1, ModelCalls: models, ToolCalls: calls}})
	return nil
}

// tokens is the minimum that a model call needs of the limits on tokens and cost. Its real usage is
// known only afterwards. With a minimum of 1, no call is made after a limit is used up.
var tokens = amounts{inputTokens: 1, outputTokens: 1, totalTokens: 1, cost: 1}

// stepOf returns what one more step uses.
func stepOf(models, calls int) amounts {
	var step amounts
	if models > 0 {
		step = tokens
	}
	step[steps], step[modelCalls], step[toolCalls], step[duration] = 1, int64(models), int64(calls), 1
	return step
}

// reached returns the ending of the highest frame, from f upwards, whose limits would be exceeded
// by so much more; nil if there is none.
func (m *Machine) reached(f *frame, more amounts) (end *ending) {
	for g := f; g != nil; g = g.up {
		used := m.usedBy(g)
		for i, limit := range g.limits {
			if more[i] > 0 && limit >= 0 && used[i] > limit-more[i] {
				end = m.limitReached(g, limitNames[i], limit)
				break
			}
		}
	}
	return end
}

// tellLimit reports whether frame f gets answers to the calls that a limit refuses, so that its
// strategy can conclude. It gets them for calls of a reply, once for each limit of tool calls.
func (m *Machine) tellLimit(f *frame, e *ending) bool {
	cause, _ := errors.AsType[*LimitError](e.err)
	if !m.started.Conclude || cause == nil || cause.Limit != limitNames[toolCalls] || e.frame.told || !f.replying() || m.reserve(f, 0, 0) != nil {
		return false
	}
	for g := f; g != e.frame.up; g = g.up {
		g.told = true
	}
	return true
}

// limitTold returns the limit of tool calls that a frame was told; nil if it was told none.
func (m *Machine) limitTold(f *frame) *delegation.Error {
	if !f.told {
		return nil
	}
	for f.up != nil && f.up.told {
		f = f.up
	}
	return m.limitReached(f, limitNames[toolCalls], f.limits[toolCalls]).err
}

func (m *Machine) limitReached(f *frame, limit string, most int64) *ending {
	err := &LimitError{Run: m.run, Frame: f.name, Limit: limit, Max: most}
	return &ending{frame: f, reason: err.Error(), err: delegation.NewError(delegation.CodeLimit, err)}
}

// remaining returns how much is left of each limit of f and of all frames above it, for a frame
// that starts one level deeper; negative: no limit.
func (m *Machine) remaining(f *frame) amounts {
	all := noLimits
	for g, deep := f, int64(1); g != nil; g, deep = g.up, deep+1 {
		rest, used := g.limits, m.usedBy(g)
		used[depth] = deep
		for i := range rest {
			if rest[i] >= 0 {
				rest[i] = max(0, rest[i]-used[i])
			}
		}
		all = all.tighter(rest)
	}
	return all
}

// mayUse returns how much of each limit f, with everything it starts, may use now.
func (m *Machine) mayUse(f *frame) amounts {
	all := m.remaining(f)
	if all[depth] >= 0 {
		all[depth]++ // f itself counts too
	}
	return all
}

// modelUse returns what a model call has used in addition to the call itself, which was reserved:
// hidden attempts, and tokens.
func modelUse(r *Answered, u messages.Usage, attempts []llmclient.Attempt) usage {
	used := usage{tokens: withTotal(u), cost: r.Cost, unpriced: r.Unpriced, elapsed: r.Elapsed}
	used.ModelCalls = len(attempts)
	for _, a := range attempts {
		used.tokens = used.tokens.Add(withTotal(a.Usage))
	}
	return used
}

// withTotal fills in the total if the provider gave none.
func withTotal(u messages.Usage) messages.Usage {
	if u.Total == 0 {
		u.Total = messages.Usage{Total: u.Input}.Add(messages.Usage{Total: u.Output}).Total
	}
	return u
}

// chargeRemote returns what a remote was given, and charges what it reports as used. A remote that
// reports nothing is charged with everything.
func (m *Machine) chargeRemote(e *effect, out *delegation.Output, elapsed time.Duration) {
	if out.Counts != (delegation.Counts{}) {
		m.refund(e)
	}
	m.charge(e.frame, &usage{Counts: out.Counts, tokens: withTotal(out.Usage), cost: out.Cost, unpriced: out.Unpriced, elapsed: elapsed})
}
