package prove_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
)

func TestCases(t *testing.T) {
	t.Setenv("SEGUE_PROVE", "")
	require.Equal(t, 300, prove.Cases())
	t.Setenv("SEGUE_PROVE", "12")
	require.Equal(t, 12, prove.Cases())
	for _, bad := range []string{"0", "-1", "many"} {
		t.Setenv("SEGUE_PROVE", bad)
		require.Panics(t, func() { prove.Cases() }, bad)
	}
}
