package explore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategytest"
	"github.com/segue-go/segue/strategytest/explore"
)

// In every state of every built-in strategy, and of compositions, somebody says something, up to
// twice a run: each listener hears it once, no request holds a note twice, and all other laws hold.
// Every test run explores a few states of some, and make prove more of all.
func TestExplore_notes(t *testing.T) {
	for i, s := range slices.Concat(builtins(), compositions()) {
		if !prove.OneIn(3, i) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			s.Odd, s.States, s.Notes = 1, prove.DepthOr(2, 50), 2
			s.Unreached = []string{"*"} // it is about notes
			s.See = func(state *explore.State) { requireNotesOnce(t, state) }
			require.NotEmpty(t, strategytest.Explore(t, s.factory, s.Options))
		})
	}
}

// requireNotesOnce checks that no open request holds more notes than were made.
func requireNotesOnce(t *testing.T, state *explore.State) {
	t.Helper()
	for _, e := range state.Open() {
		ask, ok := e.Step.(nextstep.GetChatCompletion)
		if e.Kind != machine.EffectModel || !ok {
			continue
		}
		count := 0
		for _, m := range ask.Request.Messages {
			if u, ok := m.(messages.User); ok && u.Text() == "a note" {
				count++
			}
		}
		require.LessOrEqual(t, count, 2, "a request holds a note more than once")
	}
}
