package similar

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"model", "models", "strategy", "run", "a"}
	for name, want := range map[string]string{
		"modeel": "model", "modelz": "model", "Models": "models", "stratgy": "strategy", "strategie": "strategy",
		"rnu": "run", "rn": "run", "b": "", "xyz": "", "": "", "A": "a", "tool": "",
		"str": "strategy", "st": "", "mod": "",
	} {
		require.Equal(t, want, Nearest(name, names), name)
	}
	require.Equal(t, "; did you mean model?", Hint("modeel", names))
	require.Equal(t, " (did you mean run?)", Aside("rnu", names))
	require.Empty(t, Aside("quite another", names))
	require.Empty(t, Hint("quite another", names))
	require.Equal(t, 1, edits("ab", "ba"))
	require.Equal(t, 3, edits("kitten", "sitting"))
}
