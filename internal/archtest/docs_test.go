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
		guide  string
		code   []string
		blocks int
	}{
		{"docs/writing-a-strategy.md", []string{"strategytest/secondopinion_test.go"}, 8},
		{"docs/human-in-the-loop.md", []string{"orchestrator/example_reply_test.go"}, 2},
		{"docs/strategies.md", []string{
			"strategy/completetask/example_test.go",
			"strategy/planreviseexecute/example_test.go",
			"strategy/reflection/example_test.go",
			"strategy/react/example_test.go",
			"strategy/retry/example_test.go",
			"strategy/reasonactobserve/example_test.go",
			"strategy/stepagent/example_test.go",
			"strategy/builtin/example_test.go",
			"orchestrator/example_agent_test.go",
		}, 14},
		{"docs/markdown-policies.md", []string{"llmclient/policyclient/example_test.go"}, 6},
	} {
		guide, err := os.ReadFile(filepath.Join(root, g.guide))
		require.NoError(t, err)
		var code strings.Builder
		for _, file := range g.code {
			text, err := os.ReadFile(filepath.Join(root, file))
			require.NoError(t, err)
			code.Write(text)
		}
		blocks := strings.Split(string(guide), "```go\n")[1:]
		require.GreaterOrEqual(t, len(blocks), g.blocks)
		for _, b := range blocks {
			block, _, found := strings.Cut(b, "```")
			require.True(t, found)
			require.Contains(t, code.String(), block, g.guide)
		}
	}
}
