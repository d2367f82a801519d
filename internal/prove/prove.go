// Package prove says how many cases the properties of whole runs are held against: a few in every
// test run, many in make prove.
package prove

import (
	"fmt"
	"os"
	"strconv"
)

// variable is the environment variable that holds the number of cases.
const variable = "SEGUE_PROVE"

// few is how many cases every test run draws.
const few = 300

// Cases returns how many cases a property draws: SEGUE_PROVE, or 300 if it is not set. It panics
// if SEGUE_PROVE is no positive number, since a property without cases proves nothing.
func Cases() int {
	text, ok := os.LookupEnv(variable)
	if !ok || text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("prove: %s is %q: it must be the number of cases, such as 10000", variable, text))
	}
	return n
}
