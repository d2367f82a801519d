package llmclient

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A price without a source must not stand in the list, and a cached token never costs more than one
// that is not.
func TestKnownPrices_sources(t *testing.T) {
	const addressAndMonth = `https://\S+ .*of (about )?(20\d\d-\d\d-\d\d|[A-Z][a-z]+ 20\d\d)`
	for _, k := range knownPrices {
		require.Regexp(t, addressAndMonth, k.source, k.model)
		require.Positive(t, k.Input, k.model)
		require.Greater(t, k.Output, k.Input, k.model)
		require.Less(t, k.CachedInput, k.Input, k.model)
	}
	require.Len(t, KnownPrices(), len(knownPrices), "a model stands in the list twice")
	require.NoError(t, KnownPrices().Check())
}
