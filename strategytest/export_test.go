package strategytest

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/segue-go/segue/strategy"
)

// PlayWalk plays a story whatever its walk says, and returns what that says.
func PlayWalk(t *testing.T, set strategy.Set, text string) (output string) {
	t.Helper()
	s := story{set: set}
	datadriven.RunTestFromString(t, text, func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		output = s.command(t, d)
		return d.Expected
	})
	return output
}
