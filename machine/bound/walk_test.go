package bound

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/nextstep"
)

// No walk earns more by the states that it enters than most says: caps shared by rules, self-loops
// and cycles over several states included.
func TestMost_isNotExceeded(t *testing.T) {
	kinds := []nextstep.Kind{nextstep.KindGetChatCompletion, nextstep.KindExecuteTools, nextstep.KindDelegate}
	rapid.Check(t, func(t *rapid.T) {
		w := &walks{states: []waiting{{}}, budgets: rapid.SliceOfN(rapid.Int64Range(0, 3), 3, 3).Draw(t, "budgets")}
		n := rapid.IntRange(1, 5).Draw(t, "states")
		for range n {
			w.states = append(w.states, waiting{awaits: rapid.SampledFrom(kinds).Draw(t, "kind")})
		}
		for range rapid.IntRange(1, 10).Draw(t, "edges") {
			e := edge{from: rapid.IntRange(0, n).Draw(t, "from"), to: rapid.IntRange(1, n).Draw(t, "to")}
			e.uses = rapid.SliceOfNDistinct(rapid.IntRange(0, 2), 0, 3, rapid.ID[int]).Draw(t, "uses")
			if len(e.uses) == 0 && e.from >= e.to {
				e.uses = []int{0}
			}
			w.edges = append(w.edges, e)
		}
		worth := rapid.SliceOfN(rapid.SampledFrom([]int64{0, 1, 1, 2, 7, 1000}), n+1, n+1).Draw(t, "worth")
		allowed, entered, left := w.most(func(i int) int64 { return worth[i] }), int64(0), append([]int64{}, w.budgets...)
		require.Less(t, allowed, most)
		at := 0
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(w.edges)-1), 0, 40).Draw(t, "walk") {
			e := w.edges[i]
			spent := append([]int64{}, left...)
			fits := e.from == at
			for _, b := range e.uses {
				spent[b]--
				fits = fits && spent[b] >= 0
			}
			if !fits {
				continue
			}
			at, left = e.to, spent
			entered += worth[at]
		}
		require.LessOrEqual(t, entered, allowed)
	})
}
