package explore_test

import (
	"cmp"
	"os"
	"strconv"
	"testing"

	"github.com/segue-go/segue/strategytest"
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

// TestExplore explores every built-in strategy, and compositions of them.
func TestExplore(t *testing.T) {
	for _, s := range append(builtins(), compositions()...) {
		t.Run(s.name, func(t *testing.T) {
			s.Odd, s.States = oddReactions(t), 2_000
			strategytest.Explore(t, s.factory, s.Options)

		})
	}
}
