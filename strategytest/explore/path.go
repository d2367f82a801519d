package explore

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// PathError says why a path cannot be walked.
type PathError struct {
	At       int      // the number of the reaction, from 1
	Reaction string   // as the path has it
	Known    []string // what can happen there, as a path has it
}

// Error names the reaction and what can happen instead.
func (e *PathError) Error() string {
	known := strings.Join(e.Known, ", ")
	if known == "" {
		known = "none, the run has ended"
	}
	return fmt.Sprintf("explore: reaction %d of the path, %q, cannot happen there; these can: %s", e.At, e.Reaction, known)
}

// Walk makes one run along a path, as a [Violation] has it, and checks the laws after each
// reaction. It walks the path again in every other way in which [Run] does. A reaction is written
// as its name, with "#" and the id of its effect before it: "#1 text", "#3/2 tool ok". One that
// concerns the whole run is its name alone: "stop". A reaction that this world does not have can be
// written as its answer or its record, in JSON without ids: `#1 answer {"kind":…}`, see [Story].
//
// Walk calls see in the first state and after each reaction; it may be nil.
//
// The error is a [*Violation], a [*PathError], or says why the strategy cannot be started.
func Walk(factory func() strategy.Strategy, o Options, path []string, see func(*State)) error {
	t := newExploration(factory, o).walked(path, func(s *State) bool {
		if see != nil {
			see(s)
		}
		return false
	})
	if t.err != nil {
		return t.err
	}
	if t.law != "" {
		return &Violation{Law: t.law, Problem: t.problem, Path: path[:len(t.picks)]}
	}
	return nil
}

// walked walks a path in every way that can show a broken law.
func (x *exploration) walked(path []string, see func(*State) bool) trail {
	t := x.along(len(path), named(path), see)
	x.insist(&t)
	x.later(&t)
	return t
}

// pick is a reaction that was found in the current state of a walk.
type pick struct {
	reaction *Reaction
	choice   choice
}

// picker finds the reaction with the given index of a path, in the current state of the walk.
type picker func(x *exploration, i int) (pick, error)

// trail is a walked path, up to the first broken law.
type trail struct {
	picks   []pick
	sums    []uint32 // checksums of what was open, before the first reaction and after each
	law     string   // that is broken after the last of the picks; "" if none
	problem string
	reached bool // see was content
	err     error
}

// along walks a path of n reactions, and checks the laws on the way. It ends early if see, which
// may be nil, returns true.
func (x *exploration) along(n int, find picker, see func(*State) bool) (t trail) {
	if t.err = x.problem(); t.err != nil {
		return t
	}
	defer func(bound int) { x.Notes = bound }(x.Notes)
	x.Notes = max(x.Notes, n) // as many as the path has
	if t.law, t.problem = x.fit(); t.law != "" {
		return t
	}
	if err := x.run.start(&x.config, x.task); err != nil {
		t.err = fmt.Errorf("explore: the strategy cannot be started: %w", err)
		return t
	}
	for i := 0; ; i++ {
		if t.law, t.problem = x.run.check(); t.law != "" {
			return t
		}
		sum, ok := x.run.checksum()
		if !ok {
			t.law, t.problem = lawJSON, x.formless()
			return t
		}
		t.sums = append(t.sums, sum)
		if see != nil && see(&State{run: &x.run}) {
			t.reached = true
			return t
		}
		if i == n {
			return t
		}
		p, err := find(x, i)
		if err = cmp.Or(x.world.wrong, err); err != nil {
			t.err = err
			return t
		}
		t.picks = append(t.picks, p)
		if err := x.run.react(p.reaction, p.choice); err != nil {
			if t.law, t.problem = lawTaken, err.Error(); p.reaction.own {
				x.world.refused(x, p.reaction, err)
				t.law, t.err = "", x.world.wrong
			}
			return t
		}
	}
}

// formless is the problem of a step without a JSON form.
func (x *exploration) formless() string { return "there is none of " + x.run.pending() }

// later checks the laws that need more than one walk, at the end of a trail.
func (x *exploration) later(t *trail) {
	if t.law == "" && t.err == nil {
		x.retraceAs(t, scribbled)
	}
	if t.law == "" && t.err == nil {
		x.reexamine(t)
	}
}

// reexamine checks the laws of new states in each state of a trail.
func (x *exploration) reexamine(t *trail) {
	path := make([]choice, len(t.picks))
	for i := range t.picks {
		path[i] = t.picks[i].choice
	}
	x.given = t.picks
	defer func() { x.given, x.run.as = nil, plain }()
	for i := range t.sums {
		x.to(path[:i], plain)
		key, _ := x.key()
		if law, problem := x.examined(path[:i], key, t.sums[i]); law != "" {
			t.law, t.problem, t.picks = law, problem, t.picks[:i]
			return
		}
	}
	if law, problem, after := x.follow(path, t.sums[1:]); law != "" {
		t.law, t.problem, t.picks = law, problem, t.picks[:after]
	}
}

// retraceAs walks a trail again in one way.
func (x *exploration) retraceAs(t *trail, as way) {
	x.run.as = as
	defer func() { x.run.as = plain }()
	err := x.run.start(&x.config, x.task)
	for i := 0; ; i++ {
		if t.problem = x.differs(err, t.sums[i]); t.problem != "" {
			t.law, t.picks = lawSame, t.picks[:i]
			if as == scribbled {
				t.law = lawScribbled
			}
			return
		}
		if i == len(t.picks) {
			return
		}
		err = x.run.react(t.picks[i].reaction, t.picks[i].choice)
	}
}

// A map of two entries has its less frequent order in one walk of eight.
const (
	often       = 64   // times that a path is walked to see that it always leads to the same
	mostPlainly = 5000 // reactions of all these walks; one walk is always made
)

// insist repeats a trail many times with plain walks. If one of them differs, the trail ends where
// it differs.
func (x *exploration) insist(t *trail) {
	for n, spent := 0, 0; n < often && spent <= mostPlainly && t.law == "" && t.err == nil; n++ {
		x.retraceAs(t, plain)
		spent += len(t.picks) + 1
	}
}

// differs returns how the current state of a repeated walk differs from that of the first walk; ""
// if it does not.
func (x *exploration) differs(err error, before uint32) string {
	if err != nil {
		return "the second time: " + err.Error()
	}
	if sum, _ := x.run.checksum(); sum != before {
		return "the second time it asks for " + x.run.pending() + ", and not exactly as the first time"
	}
	return ""
}

// named returns a picker that finds the reactions of a path by their names.
func named(path []string) picker {
	return func(x *exploration, i int) (pick, error) {
		p, known, err := x.pickOf(path[i])
		if errors.Is(err, errGone) {
			err = &PathError{At: i + 1, Reaction: path[i], Known: known}
		}
		return p, err
	}
}

// pickOf returns the reaction with that name in the current state of the walk. If there is none, it
// returns errGone and the names of all reactions.
func (x *exploration) pickOf(name string) (p pick, known []string, err error) {
	if x.run.m.Done() {
		return pick{}, nil, errGone
	}
	for _, c := range x.choices() {
		r := x.reaction(c)
		have := x.run.name(r, c)
		if have == name {
			return pick{r, c}, nil, nil
		}
		known = append(known, have)
	}
	id, text, isWritten := cutWritten(name)
	for i := range x.run.open {
		if isWritten && "#"+x.run.open[i].ID.String() == id {
			r, err := readReaction(text)
			return pick{r, choice{uint16(i), whole}}, nil, err //nolint:gosec // few effects are open at once
		}
	}
	return pick{}, known, errGone
}

// effectOf returns the effect of a choice in the current state of the walk; nil if the choice
// concerns the whole run.
func (w *walk) effectOf(c choice) *machine.Effect {
	if c.effect == whole {
		return nil
	}
	return &w.open[c.effect]
}
