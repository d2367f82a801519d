package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
)

// TestPages shows all lines in their order, no page larger than the terminal, each below the
// heading.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := Size{rapid.IntRange(20, 100).Draw(t, "columns"), rapid.IntRange(8, 60).Draw(t, "rows")}
		var content []Line
		for range rapid.IntRange(0, 200).Draw(t, "lines") {
			content = append(content, Line{Plain, rapid.StringOfN(rapid.RuneFrom([]rune("a\t界")), 0, 150, -1).Draw(t, "line")})
		}
		shown := Pages{Line{Bold, "heading"}, wrapAll(content, at.Columns)}
		var all []Line
		for first := true; first || shown.More(); first = false {
			page := shown.Next(at)
			require.LessOrEqual(t, len(page)+2, at.Rows)
			require.Equal(t, "heading", page[0].Text)
			page = page[1:]
			if shown.More() {
				require.Contains(t, page[len(page)-1].Text, ": m shows more")
				page = page[:len(page)-1]
			}
			all = append(all, page...)
		}
		for _, n := range all {
			require.Less(t, plaintext.CellsOf(n.Text), at.Columns)
		}
		require.Equal(t, wrapAll(content, at.Columns), all)
		require.Equal(t, strings.ReplaceAll(texts(content), "\n", ""), strings.NewReplacer("\n      ", "", "\n", "").Replace(texts(all)))
	})
}
