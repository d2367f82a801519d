package fenced_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/cmd/segue/internal/fenced"
)

func TestText(t *testing.T) {
	require.Equal(t, "```\na\n```", fenced.Text("a"))
	require.Equal(t, "```\na\n```", fenced.Text("a\n"))
	require.Equal(t, "`````\n````\nx\n`````", fenced.Text("````\nx\n"))
}

// No line of the text closes the fence, whatever is in it.
func TestText_staysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("`` \na"))).Draw(t, "text")
		all := fenced.Text(text)
		fence, inside, _ := strings.Cut(all, "\n")
		inside, found := strings.CutSuffix(inside, "\n"+fence)
		require.True(t, found)
		require.NotContains(t, inside, fence)
		require.Equal(t, strings.TrimSuffix(text, "\n"), inside)
	})
}
