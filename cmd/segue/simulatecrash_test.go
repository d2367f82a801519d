package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/orchestrator"
)

// A run that does not end as it should is shown with the place of the cut, and what differs.
func TestCrashRecord_counterexample(t *testing.T) {
	r := crashRecord{
		Agent: "writer", Status: orchestrator.StatusDone, Result: "Written.", Unused: 2, Boundaries: 3, Cuts: 4, Denied: 1, Frozen: 3, Pairs: 5, AllPairs: 9,
		Kinds: []crashKind{{Kind: "append", Boundaries: 2, Cuts: 3, Frozen: 2, Pairs: 5}, {Kind: "call", Boundaries: 1, Cuts: 1, Frozen: 1}},
		Problems: []crashProblem{
			{Where: "cut off at boundary 2, after the call c1 of pay", What: "the output is another one\n  expected: a\n  actual:   b"},
			{Where: "frozen at boundary 3", What: "no\x1b[31m"},
		},
	}
	require.Equal(t, `not cut off, the run of writer ends: done: Written.
replies of the script that are left over: 2

      at  boundaries  cut off  frozen  cut off twice
  append           2        3       2              5
    call           1        1       1              0
     all           3        4       3              5

1 run made once more, with a person who says that no call is made again
5 of 9 runs that are cut off twice were made (--seed 0); --pairs makes more
cut off at boundary 2, after the call c1 of pay:
  the output is another one
    expected: a
    actual:   b
frozen at boundary 3:
  no`+"\x1b[31m\n", r.text())
	require.EqualError(t, r.counterexample(), "a run does not end as it should: it was cut off at boundary 2, after the call c1 of pay")
}
