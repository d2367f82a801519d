package explore_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/strategytest/explore"
)

// variable is the environment variable with the number of odd reactions a path.
const variable = "SEGUE_EXPLORE"

// bounds returns how many odd reactions a path has, and where an exploration ends: in every test
// run after one odd reaction and a few hundred states; with SEGUE_EXPLORE=1 after some thousand,
// and with SEGUE_EXPLORE=2, two odd reactions, after a million.
func bounds(t *testing.T) (odd, states int) {
	t.Helper()
	switch given := os.Getenv(variable); given {
	case "":
		return 1, 300
	case "1":
		return 1, 3_000
	case "2":
		return 2, 1_000_000
	default:
		t.Fatalf("%s is %q: it must be 1 or 2", variable, given)
		return 0, 0
	}
}

// TestExplore explores every built-in strategy, and compositions of them. With SEGUE_EXPLORE they
// take every transition of every table between them.
func TestExplore(t *testing.T) {
	all := coverage.New(nil)
	for _, s := range slices.Concat(builtins(), rareBuiltins(), compositions()) {
		t.Run(s.name, func(t *testing.T) {
			s.Odd, s.States = bounds(t)
			moves := s.coverage()
			strategytest.Explore(t, s.factory, s.Options)
			all.Merge(moves)
		})
	}
	if os.Getenv(variable) == "" {
		return
	}
	var tables []*strategy.Table
	for _, name := range builtin.Names() {
		tables = append(tables, builtin.Table(name))
	}
	strategytest.RequireCoverage(t, all, 1, tables...)
}

// coverage counts the moves of what is explored.
func (s *subject) coverage() *coverage.Coverage {
	set := maps.Clone(s.Strategies)
	if set == nil {
		set = strategy.Set{}
	}
	set[explore.Subject] = s.factory
	moves := coverage.New(set)
	s.See = func(state *explore.State) {
		for _, e := range state.Events() {
			moves.Add(e)
		}
	}
	return moves
}
