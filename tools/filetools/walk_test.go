package filetools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		glob, name string
		want       bool
	}{
		{"", "a/b", true},
		{"*.go", "a/b.go", true},
		{"*.go", "a/b.md", false},
		{"b.go", "a/b.go", true},
		{"a/*.go", "a/b.go", true},
		{"a/*.go", "a/c/b.go", false},
		{"/b.go", "b.go", false},
		{"**/*.go", "b.go", true},
		{"**/*.go", "a/c/b.go", true},
		{"a/**", "a/c/b.go", true},
		{"a/**", "b/c", false},
		{"a/**/b/**/c", "a/b/x/b/c", true},
		{"a/**/b/**/c", "a/b/x/c/d", false},
		{"a/**/b/c", "a/b/b/c", true},
		{"**/**/x", "x", true},
		{"a/[a-c].go", "a/b.go", true},
		{"**/a/*/b", "a/a/x/b", true},
	} {
		require.Equal(t, tt.want, match(tt.glob, tt.name), "%s %s", tt.glob, tt.name)
	}

	// A search that tried every way to divide the folders among the ** would not end.
	require.False(t, match(strings.Repeat("**/a/", 200)+"b", strings.Repeat("a/", 2000)+"a"))
}

// matchParts, which does not backtrack over everything, agrees with a plain search that does.
func TestMatchAgreesWithASearch(t *testing.T) {
	var plain func(glob, name []string) bool
	plain = func(glob, name []string) bool {
		switch {
		case len(glob) == 0:
			return len(name) == 0
		case glob[0] == "**":
			return plain(glob[1:], name) || len(name) > 0 && plain(glob, name[1:])
		default:
			return len(name) > 0 && matchPart(glob[0], name[0]) && plain(glob[1:], name[1:])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "a", "b", "*"}), 0, 7).Draw(t, "glob")
		name := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 7).Draw(t, "name")
		require.Equal(t, plain(glob, name), matchParts(glob, name))
	})
}
