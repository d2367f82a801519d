package plaintext

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBreaks(t *testing.T) {
	for _, tt := range []struct {
		s      string
		strict bool
		want   []string
	}{
		{"", false, []string{""}},
		{"one two", false, []string{"one two"}},
		{"one two three", false, []string{"one two ", "three"}},
		{"one\ntwo", false, []string{"one\n", "two"}},
		{"one     and two", false, []string{"one     ", "and two"}},
		{"abcdefghijkl", false, []string{"abcdefghij", "kl"}},
		{"see docs/a.md b", false, []string{"see ", "docs/a.md ", "b"}},
		{"a run-1-2-3 b", false, []string{"a ", "run-1-2-3 ", "b"}},
		{"a http://b.c/defghi b", false, []string{"a ", "http://b.c/defghi ", "b"}},
		{"a http://b.c/defghi b", true, []string{"a ", "http://b.c", "/defghi b"}},
		{"日本語の文章、空白なし", false, []string{"日本語の文", "章、空白な", "し"}},
		{"日本語文章、空白", false, []string{"日本語文", "章、空白"}}, // no row begins with a comma
		{"שָׁלוֹם עוֹלָם שָׁלוֹם", false, []string{"שָׁלוֹם עוֹלָם ", "שָׁלוֹם"}},
	} {
		var rows []string
		at := 0
		for _, end := range Breaks(tt.s, 10, tt.strict) {
			rows = append(rows, tt.s[at:end])
			at = end
		}
		require.Equal(t, tt.want, rows, "%q", tt.s)
	}
}

// A character that is wider than a row does not keep what follows it in its row.
func TestBreaks_wideCharacter(t *testing.T) {
	require.Equal(t, []int{7, 8}, Breaks("AःःA", 2, true))
}

// A row does not end within a character, though the rules for line breaks allow it.
func TestBreaks_withinACharacter(t *testing.T) {
	require.Equal(t, []int{1, 10}, Breaks("A\u0600🀄ः", 4, true))
}

// TestBreaks_all loses nothing of any text, and no row is too long but for one character.
func TestBreaks_all(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, columns := OneLine(rapid.String().Draw(t, "s")), rapid.IntRange(2, 40).Draw(t, "columns")
		at := 0
		for _, end := range Breaks(s, columns, true) {
			require.True(t, end > at || s == "", "%d", end)
			if row := strings.TrimRight(s[at:end], " "); uniseg.GraphemeClusterCount(row) > 1 {
				require.LessOrEqual(t, CellsOf(row), columns, "%q", row)
			}
			at = end
		}
		require.Equal(t, len(s), at)
	})
}
