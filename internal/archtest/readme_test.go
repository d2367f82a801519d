package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeProgram builds the first program of the README, which must stay short enough to be read
// at a glance.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```go\n")
	require.True(t, found)
	program, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	require.LessOrEqual(t, strings.Count(program, "\n"), 20)

	imports := []string{"context", "fmt", "log"}
	for _, p := range []string{"delegation", "llmclient/openaichat", "orchestrator", "strategy", "strategy/completetask", "tools"} {
		imports = append(imports, module+p)
	}
	source := "package main\n\nimport (\n\t\"" + strings.Join(imports, "\"\n\t\"") + "\"\n)\n\n" + program

	dir := t.TempDir()
	real := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(real, []byte(source), 0o600))
	tree, err := filepath.Abs(root)
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(tree, "internal/readme/main.go"): real}})
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "-o", filepath.Join(dir, "program"), "./internal/readme")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, source)
}
