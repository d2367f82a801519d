package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGuideIsCompiled holds the code of guides against the files in which it is compiled.
func TestGuideIsCompiled(t *testing.T) {
	for _, g := range []struct {
		guide, code string
		blocks      int
	}{
		{"docs/writing-a-strategy.md", "strategy/strategytest/secondopinion_test.go", 8},
		{"docs/people.md", "orchestrator/example_people_test.go", 2},
		{"docs/markdown-policies.md", "markdownpolicy/policyclient/example_test.go", 6},
	} {
		guide, err := os.ReadFile(filepath.Join(root, g.guide))
		require.NoError(t, err)
		code, err := os.ReadFile(filepath.Join(root, g.code))
		require.NoError(t, err)
		blocks := strings.Split(string(guide), "```go\n")[1:]
		require.GreaterOrEqual(t, len(blocks), g.blocks)
		for _, b := range blocks {
			block, _, found := strings.Cut(b, "```")
			require.True(t, found)
			require.Contains(t, string(code), block, g.guide)
		}
	}
}
