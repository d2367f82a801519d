package explore

import (
	"fmt"
	"strings"

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
	return fmt.Sprintf("explore: reaction %d of the path, %q, cannot happen there; these can: %s", e.At, e.Reaction, strings.Join(e.Known, ", "))
}

// Walk makes one run along a path, as a [Violation] has it, and checks the laws after each
// reaction. A reaction is written as its name, with "#" and the id of its effect before it: "#1
// text", "#3/2 tool ok". One that concerns the whole run is its name alone: "stop". Walk calls see
// in the first state and after each reaction; it may be nil.
//
// The error is a [*Violation], a [*PathError], or says why the strategy cannot be started.
func Walk(factory func() strategy.Strategy, o Options, path []string, see func(*State)) error {
	x := newExploration(factory, o)
	if err := x.run.start(&x.config, x.task); err != nil {
		return fmt.Errorf("explore: the strategy cannot be started: %w", err)
	}
	for i := 0; ; i++ {
		if law, problem := x.run.check(); law != "" {
			return &Violation{Law: law, Problem: problem, Path: path[:i]}
		}
		if see != nil {
			see(&State{run: &x.run})
		}
		if i == len(path) {
			return nil
		}
		c, known, ok := x.choiceOf(path[i])
		if !ok {
			return &PathError{At: i + 1, Reaction: path[i], Known: known}
		}
		if err := x.run.react(x.reaction(c), c); err != nil {
			return &Violation{Law: lawTaken, Problem: err.Error(), Path: path[:i+1]}
		}
	}
}

// choiceOf returns the choice with that name in the state that was walked to, or the names of all.
func (x *exploration) choiceOf(name string) (c choice, known []string, ok bool) {
	if !x.run.m.Done() {
		for _, c := range x.choices() {
			have := x.run.name(x.reaction(c), c)
			if have == name {
				return c, nil, true
			}
			known = append(known, have)
		}
	}
	return choice{}, known, false
}
