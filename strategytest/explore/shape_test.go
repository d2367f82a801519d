package explore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of how long requests were, the number of binary digits counts; of a conversation, what kind its
// last messages are. Everything else counts whole: so does what a strategy calls the same.
func TestAppendShape_measures(t *testing.T) {
	shape := func(memory string) string { return string(appendShape(nil, []byte(memory))) }
	first := shape(`{"compact":{"rate":1030,"measured":600,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`)
	require.Equal(t, first, shape(`{"compact":{"rate":1900,"measured":900,"made":1},"history":[{"role":"user","content":"another"}],"then":{"measured":5}}`))
	for _, other := range []string{
		`{"compact":{"rate":2048,"measured":600,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`,
		`{"compact":{"rate":1030,"measured":1024,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`,
		`{"compact":{"rate":1030,"measured":600,"made":2},"history":[{"role":"user","content":"one"}],"then":{"measured":5}}`,
		`{"compact":{"rate":1030,"measured":600,"made":1},"history":[{"role":"user","content":"one"}],"then":{"measured":4}}`,
	} {
		require.NotEqual(t, first, shape(other))
	}
	for _, text := range []string{
		`{"compact":{"measured":"long","rate":-1}}`, `{"compact":{"measured":`, `{"compact":{"rate":99999999999999999999999}}`,
		`{"measured":5,"rate":6}`, `{"compact":5,"rate":6}`, `{"team":[{"role":"judge","votes":2},{"role":"user"}]}`,
		`{"votes":[{"role":"user","vote":"no"},{"role":"lawyer","vote":"no"},{"role":"manager","vote":"no"}]}`,
	} {
		require.Equal(t, text, shape(text), "it is something else")
	}
}
