package strategytest

import (
	"flag"
	"strings"
	"testing"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/coverage"
)

// RequireCoverage fails the test unless at least this share of the transitions of each of the
// tables was taken, from 0 to 1; 1 means all of them. Without tables it holds for every table of
// the Coverage, those of children included. The failure names each transition that is missing. The
// test logs what was counted.
//
// If -run or -skip chooses among subtests ("-run TestStories/refund"), most of what would be
// counted is left out. Then RequireCoverage only logs.
func RequireCoverage(t testing.TB, c *coverage.Coverage, share float64, tables ...*strategy.Table) {
	t.Helper()
	counted := c.Tables()
	if len(tables) > 0 {
		counted = counted[:0]
		for _, table := range tables {
			counted = append(counted, c.Of(table))
		}
	}
	if len(counted) == 0 {
		t.Errorf("strategytest: coverage: there is no table: no strategy of the set is a strategy.Tabler")
	}
	for _, table := range counted {
		t.Logf("%s", table)
		if missing := lacking(table, share); missing != "" && !choosesSubtests() {
			t.Errorf("%s", missing)
		}
	}
}

// lacking returns what is missing for that share of a table; "" if nothing is.
func lacking(t coverage.Table, share float64) string {
	if t.Share() >= share {
		return ""
	}
	var b strings.Builder
	b.WriteString("strategytest: coverage of " + t.Summary() + "; never taken:\n")
	for _, m := range t.Missing() {
		b.WriteString("  " + m.String() + "\n")
	}
	for _, m := range t.Strays {
		b.WriteString("taken without a rule of the table: " + m.String() + "\n")
	}
	return b.String()
}

// choosesSubtests reports whether the flags of the test leave out subtests.
func choosesSubtests() bool {
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && strings.Contains(f.Value.String(), "/") {
			return true
		}
	}
	return false
}
