package prove_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/internal/prove"
)

func TestCases(t *testing.T) {
	t.Setenv("SEGUE_PROVE", "")
	require.Equal(t, 60, prove.Cases())
	require.Equal(t, 30, prove.CasesOr(30))
	require.Equal(t, 2, prove.DepthOr(2, 4))
	require.Equal(t, []bool{true, false, false, true}, []bool{prove.OneIn(3, 0), prove.OneIn(3, 1), prove.OneIn(3, 2), prove.OneIn(3, 3)})
	t.Setenv("SEGUE_PROVE", "12")
	require.Equal(t, 12, prove.Cases())
	require.Equal(t, 12, prove.CasesOr(30))
	require.Equal(t, 4, prove.DepthOr(2, 4))
	require.True(t, prove.OneIn(3, 1))
	for _, bad := range []string{"0", "-1", "many"} {
		t.Setenv("SEGUE_PROVE", bad)
		require.Panics(t, func() { prove.Cases() }, bad)
	}
}

func TestChecks(t *testing.T) {
	before := flag.Lookup("rapid.checks").Value.String()
	t.Run("fewer", func(t *testing.T) {
		prove.Checks(t, 7)
		n := 0
		rapid.Check(t, func(*rapid.T) { n++ })
		require.Equal(t, 7, n)
	})
	require.Equal(t, before, flag.Lookup("rapid.checks").Value.String())
}
