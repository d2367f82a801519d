package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategytest/explore"
)

// Each law stays broken on a shorter path, with other numbers of effects, and simpler reactions.
func TestShrink(t *testing.T) {
	for flaw, c := range map[string]struct{ long, short []string }{
		"panics": {
			[]string{"#1 two calls look", "#2/2 tool ok", "#2/1 tool huge", "crash", "#3 text and call pay", "#4/1 tool failed"},
			[]string{"#1 call pay", "#2/1 tool failed"},
		},
		"hides a tool": {
			[]string{"#1 call pay", "#2/1 tool failed", "#3 call look", "#4/1 tool untrusted"},
			[]string{"#1 unknown call"},
		},
		"counts": {[]string{"#1 call pay", "#2/1 tool failed"}, []string{}},
		"":       {[]string{"#1 call pay", "#2/1 tool failed"}, []string{"#1 call pay", "#2/1 tool failed"}},
	} {
		t.Run(flaw, func(t *testing.T) {
			short := explore.Shrink(newWorker(flaw), withTools(false), c.long)
			require.Equal(t, append([]string{}, c.short...), append([]string{}, short...))
		})
	}
}

// A call of one of two tools is found again by its tool, not by its number.
func TestShrink_findsEffectsAgain(t *testing.T) {
	long := []string{"#1 call both", "#2/2 tool ok", "#2/1 tool ok", "#3 two calls pay", "#4/2 tool ok", "#4/1 tool failed"}
	require.Equal(t, []string{"#1 call pay", "#2/1 tool failed"}, explore.Shrink(newWorker("panics"), withTools(false), long))
}

// A violation that was found is shrunk, and has a story; without the flaw there is none.
func TestRun_violationsAreShrunk(t *testing.T) {
	o := withTools(false)
	o.States = 60
	r, err := explore.Run(newWorker("panics"), o)
	require.NoError(t, err)
	require.Len(t, r.Violations, 1)
	v := r.Violations[0]
	require.Equal(t, []string{"#1 call pay", "#2/1 tool failed"}, v.Path)
	require.Equal(t, `# clerk breaks a law that explorations check: `+v.Law+`.
# `+v.Problem+`

tool look read-only
----

tool pay
----

walk clerk
goal a task
#1 call pay
#2/1 tool failed
----
every law holds
`, v.Story)
	var again *explore.Violation
	require.ErrorAs(t, explore.Walk(newWorker("panics"), o, v.Path, nil), &again)
	require.Equal(t, v.Law, again.Law)
	require.NoError(t, explore.Walk(newWorker(""), o, v.Path, nil))
}
