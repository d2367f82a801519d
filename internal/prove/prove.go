// Package prove sets the number of cases for the property tests of whole runs: a few in every test
// run, many in make prove.
package prove

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable that holds the number of cases.
const variable = "SEGUE_PROVE"

// few is the number of cases in every test run.
const few = 60

// Cases returns the number of cases of a property: SEGUE_PROVE, or 60 if it is not set. It panics
// if SEGUE_PROVE is not a positive number, because a property without cases proves nothing.
func Cases() int { return CasesOr(few) }

// CasesOr returns SEGUE_PROVE, or another number if it is not set: that of a property whose cases
// take long.
func CasesOr(instead int) int {
	text, ok := os.LookupEnv(variable)
	if !ok || text == "" {
		return instead
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("prove: %s is %q: it must be the number of cases, such as 10000", variable, text))
	}
	return n
}

// DepthOr returns how deep to explore: as deep as is meant if SEGUE_PROVE is set, and else less.
func DepthOr(less, meant int) int {
	if CasesOr(0) == 0 {
		return less
	}
	return meant
}

// OneIn reports whether to do the i-th of many cases that are alike, from 0: each if SEGUE_PROVE is
// set, and else one in n.
func OneIn(n, i int) bool { return CasesOr(0) > 0 || i%n == 0 }

// Checks has rapid try n cases of each property in this test, at least one, unless the command line
// says how many.
func Checks(t testing.TB, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks == nil || checks.Value.String() != checks.DefValue {
		return
	}
	t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
	if err := checks.Value.Set(strconv.Itoa(max(1, n))); err != nil {
		t.Fatal(err)
	}
}
