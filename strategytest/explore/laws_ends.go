package explore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
)

// signature identifies the live strategies and their states.
func (w *walk) signature() string {
	var b strings.Builder
	for _, f := range w.m.Frames() {
		fmt.Fprintf(&b, "%d %s %s\n", f.Depth, f.Strategy, f.State)
	}
	return b.String()
}

// untabled returns the memories of the live strategies without a table, which have no states.
func (w *walk) untabled() string {
	var t keyText
	for _, f := range w.m.Frames() {
		if st := w.live[f.Name]; f.State == "" {
			t.memory(st)
		}
	}
	return string(t.buf)
}

const (
	mostFailures = 1000 // in a row that a run may meet
	mostEndless  = 500  // states that meet them
)

// endless answers every effect of a state, and of those that follow, with one mishap after the
// other. Effects that it cannot happen to are answered as in a run that goes well. It returns the
// problem if the run does not end.
func (x *exploration) endless(path []choice, signature string) string {
	signature += x.run.untabled()
	if x.nearer.failed[signature] || x.run.m.Done() || len(x.nearer.failed) >= mostEndless {
		return ""
	}
	x.nearer.failed[signature] = true
	for _, name := range x.mishaps() {
		if !x.to(path, plain) {
			return ""
		}
		var places []string
		for n := 0; !x.run.m.Done() && len(x.run.open) > 0; n++ {
			if n == mostFailures {
				return fmt.Sprintf("it goes on for ever if it meets nothing but %q: %s", name, round(places))
			}
			places = append(places, x.run.place())
			c := x.mishap(name)
			if x.run.react(x.reaction(c), c) != nil {
				break
			}
		}
	}
	return ""
}

// mishap returns the reaction of that name to the first open effect, or one of a run that goes
// well.
func (x *exploration) mishap(name string) choice {
	well := choice{0, 0}
	for i, r := range x.world.reactions(&x.run.open[0], x.run.ending(0)) {
		at := choice{0, uint16(i)} //nolint:gosec // there are few
		switch {
		case r.Name == name:
			return at
		case r.own && !r.Odd && well.reaction == 0:
			well = at
		}
	}
	return well
}

// place says what the first open effect is for.
func (w *walk) place() string {
	e := &w.open[0]
	for _, f := range w.frames() {
		if f.Name == e.Frame && f.State != "" {
			return string(f.State)
		}
	}
	return strings.TrimSpace(string(e.Kind) + " " + e.Call.Name)
}

// round returns the last places, each once, up to the one that comes again.
func round(places []string) string {
	last := len(places) - 1
	from := last - 1
	for from > 0 && places[from] != places[last] {
		from--
	}
	return strings.Join(places[from:], " -> ")
}

// mishaps returns the names of the odd reactions to the first open effect that answer it. Calls of
// a model are not among them: how many it makes is for the limits of the run.
func (x *exploration) mishaps() (names []string) {
	if len(x.run.open) == 0 {
		return nil
	}
	e := &x.run.open[0]
	for _, r := range x.world.reactions(e, x.run.ending(0)) {
		rec, _ := r.Record(e).(machine.Answered)
		said, _ := rec.Answer.(nextstep.APIResponse)
		if r.Odd && rec.Answer != nil && (said.Response == nil || len(said.Response.Message.Calls()) == 0) {
			names = append(names, r.Name)
		}
	}
	return names
}

// spins names a frame that was ended because it took step after step, and waited for nothing.
func (w *walk) spins([]machine.FrameView) string {
	for left, frame := range w.left() {
		if left.Err == nil {
			continue
		}
		if limit, ok := errors.AsType[*machine.LimitError](left.Err); ok && limit.Limit == endlessSteps {
			return fmt.Sprintf("frame %s of %q goes on for ever by itself: %s", frame, left.Strategy, causeOf(left.Err))
		}
	}
	return ""
}

// endlessSteps is the limit of the Machine on steps between which nothing is waited for.
const endlessSteps = "steps without a model or a tool"
