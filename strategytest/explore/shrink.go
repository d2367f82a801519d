package explore

import (
	"slices"

	"github.com/segue-go/segue/machine"
)

// goal checks that a shrunk path still does what it should. It returns the number of reactions that
// this needs; -1 if the path does not do it.
type goal func(x *exploration, n int, find picker) int

// breaks returns the goal to break a law. once means that one walk is enough to show it.
func breaks(law string, once bool) goal {
	return func(x *exploration, n int, find picker) int {
		t := x.along(n, find, nil)
		if law == lawSame {
			x.insist(&t)
		}
		if !once {
			x.later(&t)
		}
		if t.law != law {
			return -1
		}
		return len(t.picks)
	}
}

// shrinkViolation returns the shortest path that was found to break the same law: without each
// reaction that it can do without, and with simpler reactions, which stand earlier in the lists of
// the world. An effect may have another id there.
func (x *exploration) shrinkViolation(path []string, law string) []string {
	once := x.along(len(path), named(path), nil).law == law
	return x.shrink(path, breaks(law, once))
}

// reaches returns the goal to reach a state that a predicate accepts, without a broken law before
// it. sight makes the predicate anew for each walk.
func reaches(sight func() func(*State) bool) goal {
	return func(x *exploration, n int, find picker) int {
		t := x.along(n, find, sight())
		if !t.reached {
			return -1
		}
		return len(t.picks)
	}
}

// mostTries is the greatest number of paths that are tried to shrink one.
const mostTries = 3000

// shrinking is the state of shrinking one path.
type shrinking struct {
	x     *exploration
	goal  goal
	moves []move
	tries int
}

// move is a reaction of a path that does not depend on the number of its effect.
type move struct {
	sort     string // of the effect: its kind and its tool
	nth      int    // among the open effects of the sort
	name     string
	reaction *Reaction // only of one that is written in JSON
	simpler  []string  // names of the reactions to the effect before this one
}

// shrink shrinks a path to another with the same goal.
func (x *exploration) shrink(path []string, g goal) []string {
	s := shrinking{x: x, goal: g}
	moves := x.moves(path)
	n := g(x, len(moves), chosen(moves))
	if n < 0 {
		return path // it breaks the law only now and then
	}
	s.moves = moves[:n]
	for s.tries < mostTries && (s.omitOne() || s.simplifyOne()) {
	}
	return x.names(s.moves)
}

// omitOne leaves out a reaction, if one can be left out.
func (s *shrinking) omitOne() bool {
	for i := range s.moves {
		if s.take(slices.Delete(slices.Clone(s.moves), i, i+1)) {
			return true
		}
	}
	return false
}

// simplifyOne replaces a reaction by a simpler one, if that is possible, perhaps without a later
// one that has nothing to answer then.
func (s *shrinking) simplifyOne() bool {
	for i := range s.moves {
		for _, name := range s.moves[i].simpler {
			other := slices.Clone(s.moves)
			other[i].name, other[i].reaction = name, nil
			if s.take(other) {
				return true
			}
			for j := i + 1; j < len(other); j++ {
				if s.take(slices.Delete(slices.Clone(other), j, j+1)) {
					return true
				}
			}
		}
	}
	return false
}

// take takes a path if it reaches the goal.
func (s *shrinking) take(moves []move) bool {
	if s.tries++; s.tries > mostTries {
		return false
	}
	n := s.goal(s.x, len(moves), chosen(moves))
	if n < 0 {
		return false
	}
	s.moves = s.x.moves(s.x.names(moves[:n]))
	return true
}

// chosen finds moves.
func chosen(moves []move) picker {
	return func(x *exploration, i int) (pick, error) { return x.pickMove(&moves[i]) }
}

// pickMove finds a move in the state that was walked to.
func (x *exploration) pickMove(m *move) (pick, error) {
	if x.run.m.Done() {
		return pick{}, errGone
	}
	place := x.run.placeOf(m)
	if place < 0 {
		return pick{}, errGone
	}
	if m.reaction != nil {
		return pick{m.reaction, choice{uint16(place), whole}}, nil //nolint:gosec // few effects are open at once
	}
	for _, c := range x.choices() {
		if int(c.effect) == place {
			if r := x.reaction(c); r.Name == m.name {
				return pick{r, c}, nil
			}
		}
	}
	return pick{}, errGone
}

// placeOf returns the index of the effect of a move, or whole; -1 if none fits.
func (w *walk) placeOf(m *move) int {
	if m.sort == "" {
		return whole
	}
	place, nth := -1, 0
	for i := range w.open {
		if sortOf(&w.open[i]) == m.sort {
			if place = i; nth == m.nth {
				break
			}
			nth++
		}
	}
	return place
}

// sortOf returns the kind and the tool of an effect. A reaction may fit other effects of its sort.
func sortOf(e *machine.Effect) string {
	sort := string(e.Kind) + " " + e.Call.Name
	if e.Wait != nil {
		sort += " " + e.Wait.Kind + " " + e.Wait.Tool
	}
	return sort
}

// moves returns the moves of a path, as far as it can be walked.
func (x *exploration) moves(path []string) []move {
	var moves []move
	x.along(len(path), func(x *exploration, i int) (pick, error) {
		p, _, err := x.pickOf(path[i])
		if err == nil {
			moves = append(moves, x.moveOf(p))
		}
		return p, err
	}, nil)
	return moves
}

// moveOf returns a reaction as a move.
func (x *exploration) moveOf(p pick) move {
	m := move{name: p.reaction.Name}
	if e := x.run.effectOf(p.choice); e != nil {
		m.sort = sortOf(e)
		for i := range int(p.choice.effect) {
			if sortOf(&x.run.open[i]) == m.sort {
				m.nth++
			}
		}
		if p.choice.reaction == whole {
			m.reaction = p.reaction
		}
	}
	for _, c := range x.choices() {
		if c.effect == p.choice.effect && c.reaction < p.choice.reaction {
			m.simpler = append(m.simpler, x.reaction(c).Name)
		}
	}
	return m
}

// names returns a path as it is written.
func (x *exploration) names(moves []move) []string {
	var names []string
	x.along(len(moves), func(x *exploration, i int) (pick, error) {
		p, err := x.pickMove(&moves[i])
		if err == nil {
			names = append(names, x.run.name(p.reaction, p.choice))
		}
		return p, err
	}, nil)
	return names
}
