package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGuideIsCompiled holds the code of the guide to writing a strategy against the file in which it is compiled.
func TestGuideIsCompiled(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(root, "docs/writing-a-strategy.md"))
	require.NoError(t, err)
	code, err := os.ReadFile(filepath.Join(root, "strategy/strategytest/secondopinion_test.go"))
	require.NoError(t, err)
	blocks := strings.Split(string(guide), "```go\n")[1:]
	require.GreaterOrEqual(t, len(blocks), 8)
	for _, b := range blocks {
		block, _, found := strings.Cut(b, "```")
		require.True(t, found)
		require.Contains(t, string(code), block)
	}
}
