package explore

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// nearer holds the state for the laws that cost too much to check after every reaction. They are
// checked in each new state, and on some longer walks.
type nearer struct {
	defs   []tools.Definition // as they were given
	failed map[string]bool    // the strategies and their states that have met nothing but failures
	wrong  map[string]bool    // the same for answers that do not fit
	from   string             // the strategies and their states before the next reaction
	moves  map[passage]bool   // the reactions that were examined
	habits [][]choice         // paths to reactions that were examined, see wander
	endsOf int32              // the state whose reactions that end the run are counted
	ends   int                // their number so far
}

// passage is a reaction, with the strategies and their states before it.
type passage struct {
	from, reaction string
	ends           bool // the run
}

// isFirst reports whether the last reaction of a path was not yet tried on strategies in these
// states. Then its laws are checked even if it leads to a known state.
func (x *exploration) isFirst(path []choice, reaction string) bool {
	p := passage{x.nearer.from, reaction, x.run.m.Done()}
	known := x.nearer.moves[p]
	x.nearer.moves[p] = true
	if last := path[len(path)-1]; !known && last.effect != whole && !p.ends && len(x.nearer.habits) < mostHabits {
		x.nearer.habits = append(x.nearer.habits, path)
	}
	return !known
}

// fit checks the factories. It returns the first law that one breaks, with the problem; "" if none.
func (x *exploration) fit() (law, problem string) {
	x.nearer.defs, x.nearer.failed = slices.Clone(x.Tools), map[string]bool{}
	x.run.own = map[string]bool{}
	x.nearer.wrong, x.nearer.moves = map[string]bool{}, map[passage]bool{}
	for _, name := range slices.Sorted(maps.Keys(x.config.Strategies)) {
		factory := x.config.Strategies[name]
		if factory == nil {
			continue
		}
		law, problem := x.unfit(name, factory)
		if law != "" && law != x.off {
			return law, fmt.Sprintf("strategy %q: %s", name, problem)
		}
	}
	return "", ""
}

// unfit returns the law that the strategies of a factory break, with the problem.
func (x *exploration) unfit(name string, factory func() strategy.Strategy) (law, problem string) {
	defer func() {
		x.run.made = x.run.made[:0]
		if v := recover(); v != nil {
			law, problem = lawTools, fmt.Sprintf("its factory, or its Tools, UseTools or Bounds panicked: %v", v)
		}
	}()
	a, b := factory(), factory()
	if a == nil {
		return "", "" // it cannot be started
	}
	if of := reflect.TypeOf(a); of.Kind() == reflect.Pointer && of.Elem().Size() > 0 && a == b {
		return lawNew, "its factory returned the same twice"
	}
	names := map[string]bool{}
	for _, d := range x.Tools {
		names[d.Name] = true
	}
	if p, ok := a.(strategy.ToolProvider); ok {
		for _, t := range p.Tools() {
			if name := t.Definition().Name; names[name] {
				return lawTools, fmt.Sprintf("there are two tools %q", name)
			}
			names[t.Definition().Name], x.run.own[t.Definition().Name] = true, true
		}
	}
	x.run.readBounds(name, a, x.Tools)
	return "", ""
}

// examine checks the expensive laws in a new state. The walk must be in this state, and is in
// another one afterwards. It reports whether the state may be explored further.
func (x *exploration) examine(path []choice, key stateKey, sum uint32) bool {
	law, problem := x.examined(path, key, sum)
	if law == "" {
		return true
	}
	x.violate(law, path, problem)
	return false
}

// examined returns the first expensive law that a new state breaks, with the problem; "" if none.
func (x *exploration) examined(path []choice, key stateKey, sum uint32) (law, problem string) {
	w := &x.run
	signature := w.signature()
	for _, l := range []struct {
		name  string
		check func() string
	}{
		{lawTurn, func() string { return w.outOfTurn(w.m.Frames()) }},
		{lawRefused, func() string { return x.takesAnything(signature) }},
		{lawEnds, func() string { return x.endless(path, signature) }},
	} {
		if l.name == x.off {
			continue
		}
		if problem := l.check(); problem != "" {
			return l.name, problem
		}
	}
	if law, problem = x.lookClosely(path, sum); law != "" {
		return law, problem
	}
	return x.replaced(path, key, sum)
}

// to walks along a path in the given way, and reports whether the path can be walked.
func (x *exploration) to(path []choice, as way) bool {
	x.run.as = as
	ok := x.run.start(&x.config, x.task) == nil
	for i := 0; ok && i < len(path); i++ {
		ok = x.run.react(x.reactionAt(path, i), path[i]) == nil
	}
	return ok
}

// lookClosely walks a path once more, checks its last reaction with stand-ins, and returns the law
// that this breaks.
func (x *exploration) lookClosely(path []choice, sum uint32) (law, problem string) {
	w := &x.run
	defer func() { w.as = plain }()
	last := max(0, len(path)-1)
	if !x.to(path[:last], closely) {
		return x.lawOf(closely, path, sum), "the second time its path cannot be walked"
	}
	before, steps := w.places(), w.forms()
	if len(path) > 0 && w.react(x.reactionAt(path, last), path[last]) != nil {
		return x.lawOf(closely, path, sum), "the second time its path cannot be walked"
	}
	if c := w.complaint; c.law != "" {
		return c.law, c.problem
	}
	if problem := x.differs(nil, sum); problem != "" {
		return x.lawOf(closely, path, sum), problem
	}
	if !reflect.DeepEqual(x.Tools, x.nearer.defs) && x.off != lawGiven {
		return lawGiven, "it has written to the tools of the run"
	}
	if problem := changed(steps); problem != "" && x.off != lawKept {
		return lawKept, problem
	}
	if problem := w.illegal(before); problem != "" && x.off != lawMoves {
		return lawMoves, problem
	}
	return "", ""
}

// replaced walks a path once more, and replaces the strategies by restored ones before the last
// reaction. It returns the law that is broken if this leads to another state.
func (x *exploration) replaced(path []choice, key stateKey, sum uint32) (law, problem string) {
	w := &x.run
	defer func() { w.as = plain }()
	if x.off == lawRestored {
		return "", ""
	}
	last := max(0, len(path)-1)
	if !x.to(path[:last], restored) {
		return x.lawOf(restored, path, sum), "the second time its path cannot be walked"
	}
	w.replaceAll()
	if len(path) > 0 && w.complaint.law == "" && w.react(x.reactionAt(path, last), path[last]) != nil {
		problem = w.whatIsLost() + "restored, it does not take the last reaction"
		return x.lawOf(restored, path, sum), problem
	}
	if c := w.complaint; c.law == lawRestored {
		return c.law, c.problem
	}
	again, _ := w.checksum()
	now, exact := x.key()
	if again == sum && (now == key || !exact) {
		return "", ""
	}
	problem = w.whatIsLost() + "restored before the last reaction, it asks for " + w.pending() + ", or remembers something else"
	return x.lawOf(restored, path, sum), problem
}

// In the first states every end of the run is checked, in each later state only one end.
const (
	mostEndsChecked = 1000 // states
	endsInTurn      = 8
)

// endsRestored checks that a run which ends with the last reaction also ends so with restored
// strategies. All ends of one kind are one state, so no later reaction shows a gap in a snapshot.
func (x *exploration) endsRestored(at int32, path []choice, key stateKey) {
	if !x.run.m.Done() || path[len(path)-1].effect == whole || !x.report.Exact {
		return
	}
	if x.nearer.endsOf != at {
		x.nearer.endsOf, x.nearer.ends = at, 0
	}
	x.nearer.ends++
	if at >= mostEndsChecked && x.nearer.ends != 1+int(at)%endsInTurn {
		return
	}
	if law, problem := x.replaced(path, key, x.sum(path)); law != "" {
		x.violate(law, path, problem)
	}
}

// lawOf returns the law that is broken if a path, walked in the given way, leads to another state.
// It is lawSame if plain walks of the path also differ.
func (x *exploration) lawOf(as way, path []choice, sum uint32) string {
	var plainly uint32
	for n := range often {
		if as == plain || !x.to(path, plain) {
			return lawSame
		}
		again, _ := x.run.checksum()
		if n > 0 && again != plainly {
			return lawSame
		}
		plainly = again
	}
	if plainly != sum { // the first walk was not a plain one
		if as = scribbled; x.to(path, closely) {
			if again, _ := x.run.checksum(); again != plainly {
				as = closely
			}
		}
	}
	switch as {
	case scribbled:
		return lawScribbled
	case closely:
		return lawDecoded
	default:
		return lawRestored
	}
}

// form is an open step, with its JSON form when it was opened.
type form struct {
	step nextstep.NextStep
	text string
}

// forms returns the open steps.
func (w *walk) forms() []form {
	var all []form
	for i := range w.open {
		if step := w.open[i].Step; step != nil {
			text, _ := nextstep.Marshal(step)
			all = append(all, form{step, string(text)})
		}
	}
	return all
}

// changed says which step now says something else.
func changed(steps []form) string {
	for _, f := range steps {
		if now, _ := nextstep.Marshal(f.step); string(now) != f.text {
			return fmt.Sprintf("a %s was %.300s, and is %.300s now", f.step.Kind(), f.text, now)
		}
	}
	return ""
}
