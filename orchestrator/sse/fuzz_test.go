package sse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A Last-Event-ID is a position in a run or refused, and what is sent on as an id is read again.
func FuzzLastEventID(f *testing.F) {
	for _, id := range []string{"", "7", "7/2", "0", "-1", "7/-2", "7/2/3", "+7", "99999999999999999999", "7/", "/7", "٣"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		p, err := positionOf(id)
		if err != nil {
			require.Zero(t, p)
			return
		}
		require.GreaterOrEqual(t, p.Record, 0)
		require.GreaterOrEqual(t, p.Index, 0)
		again, err := positionOf(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
