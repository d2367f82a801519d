package workfolder

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPathGlob(t *testing.T) {
	for text, want := range map[string]struct{ is, not string }{
		"src/**":     {"src src/a src/a/b", "a/src x/src/a srcs/a"},
		"**/gen/*":   {"gen/a x/gen/a x/y/gen/a", "gen gen/a/b"},
		"*.md":       {"a.md x/a.md", "a.mdx a.md/x"},
		"a/*/c":      {"a/b/c", "a/c a/b/b/c"},
		"a/**/c":     {"a/c a/b/c a/b/b/c", "a/b c"},
		"**":         {". a a/b", ""},
		"src/[ab].?": {"src/a.x src/b.y", "src/c.x"},
	} {
		g, err := ParsePathGlob(text)
		require.NoError(t, err, text)
		for path := range strings.FieldsSeq(want.is) {
			require.True(t, g.Matches(path, false), "%s %s", text, path)
			require.True(t, g.Matches(strings.ToUpper(path), true), "%s %s", text, path)
		}
		for path := range strings.FieldsSeq(want.not) {
			require.False(t, g.Matches(path, false), "%s %s", text, path)
		}
	}
	g, err := ParsePathGlob("A/b")
	require.NoError(t, err)
	require.False(t, g.Matches("a/b", false))
	require.True(t, g.Matches("a/b. ", true))
}

// A match does not try all ways in which ** can match: this test would not end.
func TestPathGlob_time(t *testing.T) {
	g, err := ParsePathGlob(strings.Repeat("**/a/", 30) + "b")
	require.NoError(t, err)
	require.False(t, g.Matches(strings.Repeat("a/", 200)+"c", true))
}
