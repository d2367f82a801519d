package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPages shows all lines in their order, no page larger than the terminal, each below the
// heading.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := size{rapid.IntRange(20, 100).Draw(t, "columns"), rapid.IntRange(8, 60).Draw(t, "rows")}
		var content []note
		for range rapid.IntRange(0, 200).Draw(t, "lines") {
			content = append(content, note{plain, rapid.StringOfN(rapid.RuneFrom([]rune("a\t界")), 0, 150, -1).Draw(t, "line")})
		}
		shown := pages{note{bold, "heading"}, wrapAll(content, at.columns)}
		var all []note
		for first := true; first || shown.more(); first = false {
			page := shown.next(at)
			require.LessOrEqual(t, len(page)+2, at.rows)
			require.Equal(t, "heading", page[0].text)
			page = page[1:]
			if shown.more() {
				require.Contains(t, page[len(page)-1].text, ": m shows more")
				page = page[:len(page)-1]
			}
			all = append(all, page...)
		}
		for _, n := range all {
			require.Less(t, cellsOf(n.text), at.columns)
		}
		require.Equal(t, wrapAll(content, at.columns), all)
		require.Equal(t, strings.ReplaceAll(texts(content), "\n", ""), strings.NewReplacer("\n      ", "", "\n", "").Replace(texts(all)))
	})
}
