package explore_test

import (
	"cmp"
	"maps"
	"os"
	"strconv"
	"testing"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/strategytest/explore"
)

// oddReactions is how many odd reactions a path has: SEGUE_EXPLORE, or one.
func oddReactions(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("SEGUE_EXPLORE"), "1"))
	if err != nil {
		t.Fatalf("SEGUE_EXPLORE is the number of odd reactions a path: %v", err)
	}
	return n
}

// TestExplore explores every built-in strategy, and compositions of them. Between them they take
// every transition of every table.
func TestExplore(t *testing.T) {
	all := coverage.New(nil)
	for _, s := range append(builtins(), compositions()...) {
		t.Run(s.name, func(t *testing.T) {
			s.Odd, s.States = oddReactions(t), 1_000_000
			moves := s.coverage()
			strategytest.Explore(t, s.factory, s.Options)
			all.Merge(moves)
		})
	}
	var tables []*strategy.Table
	for _, name := range builtin.Names() {
		tables = append(tables, builtin.Table(name))
	}
	strategytest.RequireCoverage(t, all, 1, tables...)
}

// coverage counts the moves of what is explored.
func (s *explored) coverage() *coverage.Coverage {
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
