package llmclient

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// When a gate opens, callers pass in the order of their arrival, whoever wakes first.
func TestGate_OrderAtOneInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		came := func(w *waiter) bool { _, _, passed := g.try(w); return passed }
		a, b, c, late := newWaiter(), newWaiter(), newWaiter(), newWaiter()
		require.True(t, came(a), "an open gate")
		g.close(time.Now().Add(time.Second))
		g.close(time.Now().Add(time.Millisecond)) // a shorter time does not open it sooner
		require.False(t, came(b))
		require.False(t, came(c))
		require.False(t, came(a), "who comes back keeps its place before those who came later")
		require.Equal(t, []*waiter{a, b, c}, g.waiting)
		time.Sleep(time.Second - time.Nanosecond)
		require.False(t, came(a))
		time.Sleep(time.Nanosecond)

		require.False(t, came(late))
		require.False(t, came(c))
		require.False(t, came(b))
		require.True(t, came(a))
		require.Len(t, b.again, 1, "the next is told")
		require.False(t, came(c))
		g.leave(b)
		require.Len(t, c.again, 1, "and the one behind it, when it goes away")
		require.True(t, came(c))
		require.True(t, came(late))
		require.Empty(t, g.waiting)
	})
}
