package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme checks that the front page is quick to read: it is short, it begins with one whole
// program that uses only the root package, and it names one model.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 105, "a page and a half")
	blocks, err := blocksOf(string(text))
	require.NoError(t, err)
	first := blocks[0]
	require.True(t, first.isProgram(), "the first block is a whole program")
	require.LessOrEqual(t, first.line, 10)
	require.LessOrEqual(t, strings.Count(first.text, "\n"), 30)
	require.Contains(t, first.text, "segue.Agent{")
	require.NotContains(t, first.text, "/orchestrator")

	models := modelName.FindAllString(string(text), -1)
	slices.Sort(models)
	require.Len(t, slices.Compact(models), 1, "one name of a model")
	for _, page := range []string{"first-hour", "tools", "models", "chat", "structured", "web", "testing", "strategies"} {
		require.Contains(t, string(text), "(docs/"+page+".md)")
	}
}

// modelName matches names of models as programs write them.
var modelName = regexp.MustCompile(`\b(?:gpt|o[1-9]|claude|gemini|gemma|qwen|llama|mistral|deepseek|kimi)-?[0-9][A-Za-z0-9.:-]*`)

// link matches a link of a page to a file, with its anchor in that file.
var link = regexp.MustCompile(`\]\(([^()#:\s]+)(#[^)\s]*)?\)`)

// TestPages_links checks that the targets of links exist.
func TestPages_links(t *testing.T) {
	for page := range goBlocks(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(root, filepath.Dir(page), found[1]))
			require.NoError(t, err, "a link in %s", page)
		}
	}
}
