package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/machine"
)

// Runs of the same id in two namespaces, or one after the other, are different runs, and so are
// their calls for a service that knows them by their keys.
func TestEffect_Key(t *testing.T) {
	seen := map[string]string{}
	for _, of := range []struct{ namespace, nonce, run, key string }{
		{"", "", "r", "r/3/2"},
		{"", "", "a/r", "a/r/3/2"},
		{"a", "", "r", "/a/r/3/2"},
		{"b", "", "r", "/b/r/3/2"},
		{"a/b", "", "r", "/a%2Fb/r/3/2"},
		{"a", "", "b/r", "/a/b/r/3/2"},
		{"a%2Fb", "", "r", "/a%252Fb/r/3/2"},
		{"", "", "/a/r", "///a/r/3/2"},
		{"a", "", "/r", "/a//r/3/2"},
		{"", "N", "r", "/%~N/r/3/2"},
		{"", "M", "r", "/%~M/r/3/2"},
		{"a", "N", "r", "/a%~N/r/3/2"},
		{"a%~N", "", "r", "/a%25~N/r/3/2"},
		{"", "", "/%~N/r", "///%~N/r/3/2"},
	} {
		e := machine.Effect{ID: machine.EffectID{Seq: 3, Index: 2}, Namespace: of.namespace, Nonce: of.nonce, Run: of.run}
		require.Equal(t, of.key, e.Key())
		require.Empty(t, seen[of.key])
		seen[of.key] = of.namespace + " " + of.nonce + " " + of.run
	}
}
