package explore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of how long requests were, the number of binary digits counts, wherever that stands in a memory;
// of a conversation, what kind its last messages are; everything else counts whole.
func TestAppendShape_measures(t *testing.T) {
	shape := func(memory string) string { return string(appendShape(nil, []byte(memory))) }
	first := shape(`{"compact":{"rate":1030,"measured":600,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`)
	require.Equal(t, first, shape(`{"compact":{"rate":1900,"measured":900,"made":1},"history":[{"role":"user","content":"another"}],"then":{"measured":7}}`))
	for _, other := range []string{
		`{"compact":{"rate":2048,"measured":600,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`,
		`{"compact":{"rate":1030,"measured":1024,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`,
		`{"compact":{"rate":1030,"measured":600,"made":2},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`,
		`{"compact":{"rate":1030,"measured":600,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":8}}`,
	} {
		require.NotEqual(t, first, shape(other))
	}
	for _, text := range []string{`{"measured":"long","rate":-1}`, `{"measured":`, `{"rate":99999999999999999999999}`} {
		require.Equal(t, text, shape(text), "it is something else")
	}
}
