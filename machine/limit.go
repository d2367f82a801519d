package machine

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
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

// Priced returns the record with the cost of a model's answer, hidden attempts included. The engine
// calls it before it applies the record. So the journal stores what was charged, and later changes
// of prices do not change it.
//
// The price is looked up by the model that answered, and then by the model that was asked for. A
// price in an earlier list wins, by either name. Tokens of a model without a price cost nothing,
// and Unpriced counts such requests. Records of other answers are returned unchanged.
func (r Answered) Priced(asked string, lists ...llmclient.Prices) Answered {
	if r.Cost, r.Unpriced = 0, 0; r.Kind != EffectModel {
		return r
	}
	switch a := r.Answer.(type) {
	case nextstep.APIResponse:
		if a.Response == nil {
			return r
		}
		name := cmp.Or(a.Response.Asked, asked)
		r.charge(lists, a.Response.Model, name, a.Response.Usage)
		for _, before := range a.Response.Attempts {
			if before.Model == a.Response.Model { // the same was asked
				r.charge(lists, before.Model, name, before.Usage)
			} else {
				r.charge(lists, before.Model, asked, before.Usage)
			}
		}
	case nextstep.Failure:
		r.charge(lists, a.Model, asked, a.Usage)
		for _, before := range a.Attempts {
			r.charge(lists, before.Model, asked, before.Usage)
		}
	}
	return r
}

// charge adds the cost of one request.
func (r *Answered) charge(lists []llmclient.Prices, model, asked string, u messages.Usage) {
	if u == (messages.Usage{}) {
		return
	}
	for _, prices := range lists {
		price, ok := prices.Of(cmp.Or(model, asked))
		if !ok {
			price, ok = prices.Of(asked)
		}
		if ok {
			r.Cost = r.Cost.Add(price.Cost(u))
			return
		}
	}
	r.Unpriced++
}

// costProblem says what is wrong with the cost of an answer; "" if nothing is wrong.
func costProblem(e *effect, r *Answered) string {
	switch {
	case r.Cost < 0 || r.Unpriced < 0:
		return "it reports a negative cost"
	case e.kind != EffectModel && (r.Cost != 0 || r.Unpriced != 0):
		return "it reports the cost of a model, and no model was asked"
	}
	return ""
}

// DefaultRepeats is what 0 as [Config].Repeats stands for.
const DefaultRepeats = 2

// mostMade is how many different calls of a frame are kept to compare later ones with.
const mostMade = 16

// madeCall is a call that the model of a frame has made, with its result.
type madeCall struct {
	call   messages.ToolCall
	weight int                 // of its arguments
	beside []messages.ToolCall // the calls of its batch that are not read-only
	step   int                 // the number of its batch
	news   int                 // see Machine.news, after its batch
	times  int                 // in how many batches it had this result, with nothing new between them
	out    messages.ToolOutput
}

// news counts the events that may change the result of a frame's calls: calls that are not
// read-only, replies and stops in its branch, and notes.
func (m *Machine) news(f *frame) int { return f.branch.news + m.lastNote }

// hasNews counts an event for a frame and all frames above it.
func (f *frame) hasNews() {
	for ; f != nil; f = f.up {
		f.branch.news++
	}
}

// notices reports whether the Machine compares the calls of a frame with earlier ones. It does if
// the model asked for the calls, unless the run was begun by an early release.
func (m *Machine) notices(f *frame) bool { return m.started.Repeats > 0 && f.replying() }

// mayRepeat reports whether a call can count as a repetition: the frame may make it, the tool does
// not come from its strategy, and the tool is not Repeatable.
func (f *frame) mayRepeat(c *messages.ToolCall) bool {
	def, own := f.tool(c.Name, c.ID)
	return def != nil && own < 0 && !def.Repeatable
}

// repeated marks the calls that are not made again: they had the same result Config.Repeats times,
// and nothing has happened since that may change it. It returns nil if all calls are made.
func (m *Machine) repeated(f *frame, calls []messages.ToolCall) (again []bool) {
	if len(f.made) == 0 || !m.notices(f) {
		return nil
	}
	for i := range calls {
		made := f.lastMade(&calls[i], weigh(calls[i].Arguments))
		if made != nil && made.times >= m.started.Repeats && f.mayRepeat(&calls[i]) && made.holds(m.news(f), f.changing(calls)) {
			if again == nil {
				again = make([]bool, len(calls))
			}
			again[i] = true
		}
	}
	return again
}

// changing returns the calls of a batch that are not read-only.
func (f *frame) changing(calls []messages.ToolCall) (list []messages.ToolCall) {
	for i := range calls {
		if def, _ := f.tool(calls[i].Name, calls[i].ID); def != nil && !def.ReadOnly {
			list = append(list, calls[i])
		}
	}
	return list
}

// lastMade returns the kept record of an equal call; nil if there is none. The weight is that of
// its arguments.
func (f *frame) lastMade(c *messages.ToolCall, weight int) *madeCall {
	for i := range f.made {
		made := &f.made[i]
		if made.call.Name != c.Name {
			continue
		}
		alike := made.weight == weight || made.weight == -1 || weight == -1
		if made.call.Arguments == c.Arguments || alike && sameArguments(made.call, *c) {
			return made
		}
	}
	return nil
}

func sameArguments(a, b messages.ToolCall) bool {
	return jsonform.Canonical(a.Arguments) == jsonform.Canonical(b.Arguments)
}

func sameCall(a, b messages.ToolCall) bool { return a.Name == b.Name && sameArguments(a, b) }

// weigh returns a hash of arguments. Arguments that are equal as JSON have the same hash, because
// it adds up the parts between braces and commas in any order. It returns -1 if escapes in the text
// make that uncertain.
func weigh(arguments string) (weight int) {
	if strings.Contains(arguments, `\u`) || strings.Contains(arguments, `\/`) {
		return -1 // such a letter may be written otherwise
	}
	part := 0
	for _, c := range []byte(arguments) {
		switch c {
		case ' ', '\t', '\n', '\r':
		case '{', '}', '[', ']', ',': // between which parts may change places
			weight += part * part
			part = 0
		default:
			part = part*31 + int(c)
		}
	}
	weight += part * part
	return weight
}

// holds reports whether nothing has happened since a call that may change its result. The calls of
// its own batch do not count if the same calls are made together again.
func (c *madeCall) holds(news int, beside []messages.ToolCall) bool {
	return c.news == news && (c.beside == nil || slices.EqualFunc(c.beside, beside, sameCall))
}

// noteCalls keeps the calls of a finished batch, and marks each result that is equal to the result
// of the same call before.
func (m *Machine) noteCalls(f *frame) {
	b, before := &f.batch, m.news(f)
	if slices.ContainsFunc(b.calls, func(e effect) bool { return e.started && !e.def.ReadOnly }) {
		f.branch.news++
	}
	if !m.notices(f) {
		return
	}
	var beside []messages.ToolCall
	for i := range b.calls {
		if e := &b.calls[i]; e.def != nil && !e.def.ReadOnly {
			beside = append(slices.Grow(beside, len(b.calls)-i), e.call)
		}
	}
	for i := range b.calls {
		e, out := &b.calls[i], &b.results[i]
		if e.def == nil || e.own != nil || e.def.Repeatable || out.Reason == messages.ReasonRepetition || out.Reason == messages.ReasonLimit {
			continue
		}
		came, weight := *out, weigh(e.call.Arguments)
		came.CallID, came.Elapsed = "", 0
		c := f.lastMade(&e.call, weight)
		if c == nil {
			c = f.keepCall(madeCall{call: e.call, weight: weight})
		}
		switch same := c.times > 0 && c.out.Output == came.Output && reflect.DeepEqual(c.out, came); {
		case same && c.step == f.seq: // twice in one batch
		case same && c.holds(before, beside):
			c.times++
			out.Reason = messages.ReasonSame
		default:
			c.times, c.out = 1, came
		}
		c.step, c.news, c.beside = f.seq, m.news(f), beside
	}
}

// keepCall keeps a call, in the place of the one that was made longest ago if there are too many.
func (f *frame) keepCall(c madeCall) *madeCall {
	if len(f.made) < mostMade {
		f.made = append(f.made, c)
		return &f.made[len(f.made)-1]
	}
	oldest := &f.made[0]
	for i := range f.made {
		if f.made[i].step < oldest.step {
			oldest = &f.made[i]
		}
	}
	*oldest = c
	return oldest
}
