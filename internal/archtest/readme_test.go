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
// program that uses only the root package, and it names one model. It has a link to each guide.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 200, "a few minutes")
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
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	require.NoError(t, err)
	for _, page := range pages {
		require.Contains(t, string(text), "(docs/"+filepath.Base(page)+")", "a page that the table of guides leaves out")
	}
}

// TestReadme_pictures checks that what the front page shows is what tests have found: a terminal, a
// state machine, and lines of a counterexample.
func TestReadme_pictures(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	readme := read("README.md")
	require.Contains(t, readme, "\n```text\n"+strings.TrimSpace(read("docs/screens/approval-80.txt"))+"\n```\n")
	require.Contains(t, readme, between(t, read("docs/states/loop.md"), "\n```mermaid\n", "\n```\n"))
	found := read("docs/proving-your-strategy.md")
	for part := range strings.SplitSeq(between(t, readme, "\n```text\nnever: ", "\n```\n"), "…\n") {
		require.Contains(t, found, strings.TrimSuffix(strings.TrimPrefix(part, "\n```text\n"), "```\n"))
	}
}

// between returns the first part of a text from begin to end, both included.
func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	at := strings.Index(text, begin)
	require.GreaterOrEqual(t, at, 0, begin)
	to := strings.Index(text[at+len(begin):], end)
	require.GreaterOrEqual(t, to, 0, end)
	return text[at : at+len(begin)+to+len(end)]
}

// TestReadme_peers checks that the lines of programs on the front page are those of
// docs/internal/side-by-side.md, which TestPages_peers counts.
func TestReadme_peers(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs/internal/side-by-side.md"))
	require.NoError(t, err)
	counts := map[string][]string{}
	for _, row := range peerRow.FindAllStringSubmatch(string(page), -1) {
		counts[row[1]] = []string{row[3], strings.Trim(strings.SplitN(row[4], "]", 2)[0], "["), strings.Trim(strings.SplitN(row[5], "]", 2)[0], "[")}
	}
	rows := readmePeer.FindAllStringSubmatch(string(readme), -1)
	require.Len(t, rows, 7)
	for _, row := range rows {
		require.Equal(t, counts[row[1]], row[2:], row[1])
	}
}

// readmePeer is a row of the table of programs on the front page.
var readmePeer = regexp.MustCompile(`(?m)^\| \[.*\]\(docs/examples/(\w+)/main\.go\).* \| (\d+) \| (\d+) \| (\d+) \|$`)

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
