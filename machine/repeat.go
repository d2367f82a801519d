package machine

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/messages"
)

// DefaultRepeats is what 0 as [Config].Repeats stands for.
const DefaultRepeats = 2

// mostMade is how many different calls of a frame are kept to compare later ones with.
const mostMade = 64

// madeCall is a call that the model of a frame has made, and what came of it.
type madeCall struct {
	form   string // the name and the arguments, as canonical JSON
	beside string // the forms of the calls in its batch that are not read-only
	step   int    // the number of its batch
	news   int    // see Machine.news, after its batch
	times  int    // in how many batches it had this result, with nothing new between them
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

// form returns the form of a call that may be a repetition. It returns "" for a call that the frame
// may not make, and of a tool that its strategy brings or that is Repeatable.
func (e *effect) form() string {
	if e.def == nil || e.own != nil || e.def.Repeatable {
		return ""
	}
	return e.call.Name + " " + jsonform.Canonical(e.call.Arguments)
}

// besideIn returns the calls of a batch that are not read-only, as one text.
func besideIn(calls []effect, forms []string) string {
	var b strings.Builder
	for i := range calls {
		if e := &calls[i]; e.def != nil && !e.def.ReadOnly {
			b.WriteString(cmp.Or(forms[i], e.call.Name+" "+e.call.Arguments) + "\n")
		}
	}
	return b.String()
}

// formsOf returns the forms of calls, in order.
func formsOf(calls []effect) []string {
	forms := make([]string, len(calls))
	for i := range calls {
		forms[i] = calls[i].form()
	}
	return forms
}

// notices reports whether the Machine notices that a frame repeats the calls that it is making: its
// model asked for them, and no journal of an earlier release says otherwise.
func (m *Machine) notices(f *frame) bool { return m.started.Repeats > 0 && f.replying() }

// repeated returns which of the calls are not made, because they were made as often as they may, with
// the same result and nothing new since; nil if all are made.
func (m *Machine) repeated(f *frame, calls []messages.ToolCall) (again []bool) {
	if len(f.made) == 0 || !m.notices(f) {
		return nil
	}
	batch := make([]effect, len(calls))
	for i := range calls {
		batch[i].call = calls[i]
		m.lookUp(&batch[i], f, &calls[i])
	}
	forms := formsOf(batch)
	beside := besideIn(batch, forms)
	for i, form := range forms {
		if c := f.lastMade(form); c != nil && c.times >= m.started.Repeats && c.same(m.news(f), beside) {
			if again == nil {
				again = make([]bool, len(calls))
			}
			again[i] = true
		}
	}
	return again
}

// lastMade returns the call of that form; nil if there was none.
func (f *frame) lastMade(form string) *madeCall {
	i := slices.IndexFunc(f.made, func(c madeCall) bool { return c.form == form })
	if i < 0 {
		return nil
	}
	return &f.made[i]
}

// same reports whether nothing is new since a call. The calls that ran beside it are not new if they
// are made together again.
func (c *madeCall) same(news int, beside string) bool {
	return c.news == news && (c.beside == "" || c.beside == beside)
}

// noteCalls keeps the calls of a batch that has its results, and marks each result that is the same as
// that of the same call before.
func (m *Machine) noteCalls(f *frame) {
	b, before := &f.batch, m.news(f)
	if slices.ContainsFunc(b.calls, func(e effect) bool { return e.started && !e.def.ReadOnly }) {
		f.branch.news++
	}
	if !m.notices(f) {
		return
	}
	forms := formsOf(b.calls)
	beside := besideIn(b.calls, forms)
	for i, form := range forms {
		out := &b.results[i]
		if form == "" || out.Reason == messages.ReasonRepetition || out.Reason == messages.ReasonLimit {
			continue
		}
		came := *out
		came.CallID, came.Elapsed = "", 0
		c := f.lastMade(form)
		if c == nil {
			f.made = append(f.made[max(0, len(f.made)+1-mostMade):], madeCall{form: form})
			c = &f.made[len(f.made)-1]
		}
		switch same := reflect.DeepEqual(c.out, came); {
		case same && c.step == f.seq: // twice in one batch
		case same && c.times > 0 && c.same(before, beside):
			c.times++
			out.Reason = messages.ReasonSame
		default:
			c.times, c.out = 1, came
		}
		c.step, c.news, c.beside = f.seq, m.news(f), beside
	}
}
