package refund

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/coverage"
	"github.com/segue-go/segue/strategytest/explore"
)

// The page shows what the tests say of the mended strategy. How often something happens may differ.
func TestPage(t *testing.T) {
	c := coverage.New(strategy.Set{explore.Subject: New()})
	o := world
	o.See = func(s *explore.State) {
		for _, e := range s.Events() {
			c.Add(e)
		}
	}
	r, err := explore.Run(New(), o)
	require.NoError(t, err)
	require.True(t, r.Exhausted)
	page, err := os.ReadFile("../../proving-your-strategy.md")
	require.NoError(t, err)
	said := "```text\n" + r.String() + "\n" + c.Of(Table).String() + "```\n"
	require.Contains(t, numberless(string(page)), numberless(said), said)
	story, err := os.ReadFile("testdata/stories/refund-never-pays-again.txt")
	require.NoError(t, err)
	require.Contains(t, string(page), "```text\n"+string(story)+"```\n")
}

// numberless returns a text without its numbers and the width of its columns.
func numberless(text string) string { return changing.ReplaceAllString(text, " ") }

var changing = regexp.MustCompile(`[\d ]+`)
