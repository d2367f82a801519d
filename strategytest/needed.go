package strategytest

import (
	"maps"
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// needed returns the strategies of a set that can be used with the tools of one story. The story
// rarely has the tools of all strategies. A strategy that names a missing tool or strategy is left
// out, unless the run or an agent begins with it, or one of these delegates to it.
func needed(set strategy.Set, root string, list []tools.Tool) strategy.Set {
	keep := map[string]bool{}
	due := []string{root}
	known := map[string]bool{}
	for _, t := range list {
		known[t.Definition().Name] = true
		if a := machine.AgentOf(t); a != nil {
			due = append(due, a.Strategy)
		}
	}
	for ; len(due) > 0; due = due[1:] {
		if name := due[0]; !keep[name] && set[name] != nil {
			keep[name] = true
			due = append(due, childrenOf(set, name)...)
		}
	}
	kept := maps.Clone(set)
	for before := -1; before != len(kept); { // until no other becomes unusable
		before = len(kept)
		maps.DeleteFunc(kept, func(name string, _ func() strategy.Strategy) bool {
			return !keep[name] && namesMissing(kept, name, known)
		})
	}
	return kept
}

// namesMissing reports whether a strategy names a missing tool or strategy.
func namesMissing(set strategy.Set, name string, known map[string]bool) bool {
	if slices.ContainsFunc(childrenOf(set, name), func(child string) bool { return set[child] == nil }) {
		return true
	}
	return slices.ContainsFunc(strategy.NamesOf(made(set, name)).Tools, func(tool string) bool { return !known[tool] })
}

func childrenOf(set strategy.Set, name string) []string {
	names := strategy.NamesOf(made(set, name))
	return slices.Concat(names.Children, names.Handoffs)
}

// made returns a strategy, or nil if it cannot be made; the story will report that.
func made(set strategy.Set, name string) (st strategy.Strategy) {
	defer func() {
		if recover() != nil {
			st = nil
		}
	}()
	st, _ = set.New(name)
	return st
}
