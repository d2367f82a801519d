package explore

import (
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

// endless answers every effect of a state, and of those that follow, with one kind of failure after
// the other. It returns the problem if the run does not end.
func (x *exploration) endless(path []choice, signature string) string {
	signature += x.run.untabled()
	if x.nearer.failed[signature] || x.run.m.Done() || len(x.nearer.failed) >= mostEndless {
		return ""
	}
	x.nearer.failed[signature] = true
	for _, name := range x.failures() {
		if !x.to(path, plain) {
			return ""
		}
		for n := 0; !x.run.m.Done() && len(x.run.open) > 0; n++ {
			if n == mostFailures {
				return fmt.Sprintf("it goes on after %d times %q", n, name)
			}
			c := choice{0, 0}
			for i, r := range x.world.reactions(&x.run.open[0], x.run.ending(0)) {
				if r.Name == name {
					c.reaction = uint16(i) //nolint:gosec // there are few
				}
			}
			if x.run.react(x.reaction(c), c) != nil {
				break
			}
		}
	}
	return ""
}

// failures returns the names of the reactions to the first open effect that are failures.
func (x *exploration) failures() (names []string) {
	if len(x.run.open) == 0 {
		return nil
	}
	e := &x.run.open[0]
	for _, r := range x.world.reactions(e, x.run.ending(0)) {
		if isFailure(r.Record(e)) {
			names = append(names, r.Name)
		}
	}
	return names
}

// isFailure reports whether a record answers with a failure.
func isFailure(rec machine.Record) bool {
	r, ok := rec.(machine.Answered)
	if !ok {
		return false
	}
	switch a := r.Answer.(type) {
	case nextstep.Failure:
		return true
	case nextstep.DelegationResult:
		return a.Output.Err != nil
	default:
		return false
	}
}
