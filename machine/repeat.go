package machine

import (
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
)

// DefaultRepeats is what 0 as [Config].Repeats stands for.
const DefaultRepeats = 2

// mostMade is how many different calls of a frame are kept to compare later ones with.
const mostMade = 16

// madeCall is a call that the model of a frame has made, and what came of it.
type madeCall struct {
	call   messages.ToolCall
	weight int                 // of its arguments
	beside []messages.ToolCall // the calls of its batch that are not read-only
	step   int                 // the number of its batch
	news   int                 // see Machine.news, after its batch
	times  int                 // in how many batches it had this result, with nothing new between them
	out    messages.ToolOutput
}

// news counts what may make the result of a call of a frame another one: calls that are not
// read-only, replies and stops in its branch, and notes.
func (m *Machine) news(f *frame) int { return f.branch.news + m.lastNote }

// hasNews counts something new for a frame and all frames above it.
func (f *frame) hasNews() {
	for ; f != nil; f = f.up {
		f.branch.news++
	}
}

// notices reports whether the Machine notices that a frame repeats the calls that it is making: its
// model asked for them, and no journal of an earlier release says otherwise.
func (m *Machine) notices(f *frame) bool { return m.started.Repeats > 0 && f.replying() }

// mayRepeat reports whether a call may be a repetition: not if the frame may not make it, if its
// strategy brings the tool, and if the tool is Repeatable.
func (f *frame) mayRepeat(c *messages.ToolCall) bool {
	def, own := f.tool(c.Name, c.ID)
	return def != nil && own < 0 && !def.Repeatable
}

// repeated returns which of the calls are not made, because they were made as often as they may,
// with the same result and nothing new since; nil if all are made.
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

// lastMade returns what is kept of the same call, whose arguments have that weight; nil if nothing
// is.
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

// weigh returns a number that is the same for arguments that are the same as JSON, and that few
// others have; -1: nobody knows. It adds up the parts between braces and commas, whatever their
// order.
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

// holds reports whether nothing is new since a call. The calls that ran beside it are not new if
// they are made together again.
func (c *madeCall) holds(news int, beside []messages.ToolCall) bool {
	return c.news == news && (c.beside == nil || slices.EqualFunc(c.beside, beside, sameCall))
}

// noteCalls keeps the calls of a batch that has its results, and marks each result that is the same
// as that of the same call before.
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
