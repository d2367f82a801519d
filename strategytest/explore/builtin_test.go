package explore_test

import (
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

// bounds returns how many odd reactions a path has, and where an exploration ends: in every test
// run after one odd reaction and a few thousand states, with SEGUE_EXPLORE=n after n odd reactions
// and a million states.
func bounds(t *testing.T) (odd, states int) {
	t.Helper()
	given := os.Getenv("SEGUE_EXPLORE")
	if given == "" {
		return 1, 3_000
	}
	odd, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("SEGUE_EXPLORE is the number of odd reactions a path: %v", err)
	}
	return odd, 1_000_000
}

// TestExplore explores every built-in strategy, and compositions of them. Between them they take
// every transition of every table.
func TestExplore(t *testing.T) {
	all := coverage.New(nil)
	for _, s := range append(builtins(), compositions()...) {
		t.Run(s.name, func(t *testing.T) {
			s.Odd, s.States = bounds(t)
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
