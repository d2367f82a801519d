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
