package explore_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
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
// run after one odd reaction and 4 states; with SEGUE_EXPLORE=1 after a thousand,
// and with SEGUE_EXPLORE=2, two odd reactions, after a million.
func bounds(t *testing.T) (odd, states int) {
	t.Helper()
	switch given := os.Getenv(variable); given {
	case "":
		return 1, 4
	case "1":
		return 1, 1_000
	case "2":
		return 2, 1_000_000
	default:
		t.Fatalf("%s is %q: it must be 1 or 2", variable, given)
		return 0, 0
	}
}

// unnoted are compositions in which nobody says anything: with a note they have a million states,
// and what their parts do with one is explored without them.
var unnoted = []string{"a plan of compacting tasks", "a plan of plans, at the same time", "retry of reflection", "plan-revise-execute, in prose"}

// TestExplore explores every built-in strategy, and compositions of them. With SEGUE_EXPLORE they
// take every transition of every table between them.
func TestExplore(t *testing.T) {
	all, figures := coverage.New(nil), new(strings.Builder)
	figures.WriteString("| explored | paths | states | longest path | exhausted | violations |\n|---|---|---|---|---|---|\n")
	subjects := slices.Concat(builtins(), workflows(), compositions())
	if os.Getenv(variable) != "" {
		subjects = slices.Concat(subjects, rareBuiltins(), rareCompacting(), rareWorkflows())
	}
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			s.Odd, s.States = bounds(t)
			s.Unreached = []string{"*"} // what no subject reaches is said at the end
			if os.Getenv(variable) != "" && !slices.Contains(unnoted, s.name) {
				s.Notes = 1 // without one, some rules are never taken
			}
			moves := s.coverage()
			r := strategytest.Explore(t, s.factory, s.Options)
			all.Merge(moves)
			fmt.Fprintf(figures, "| %s | %d | %d | %d | %s | %d |\n", s.name, r.Paths, r.States, r.Depth, exhausted(r, s.Notes), len(r.Violations))
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
	if rewriting() && os.Getenv(variable) == "2" {
		partOfProof(t, "<!-- figures: SEGUE_EXPLORE=2 go test ./strategytest/explore -timeout 0 -run '^TestExplore$' -rewrite -->\n", "<!-- end of figures -->\n", figures.String())
	}
}

// exhausted says for people whether a space was exhausted, and within which bounds.
func exhausted(r *explore.Report, notes int) string {
	switch {
	case !r.Exhausted:
		return "no: " + r.Bounds
	case r.Bounds != "" && notes > 0:
		return "within " + r.Bounds + ", and a note"
	case r.Bounds != "":
		return "within " + r.Bounds
	default:
		return "yes"
	}
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
