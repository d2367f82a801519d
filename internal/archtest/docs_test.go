package archtest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// exampleTexts returns the programs of docs/examples by their path below it, without the comment
// above their package clause, because the text of a page replaces that comment.
func exampleTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	files, err := filepath.Glob(filepath.Join(root, "docs/examples/*/*.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		at := packageClause.FindIndex(text)
		require.NotNil(t, at, file)
		short := filepath.ToSlash(strings.TrimPrefix(file, filepath.Join(root, "docs/examples")+string(filepath.Separator)))
		texts[short] = string(text[at[0]:])
	}
	require.NotEmpty(t, texts)
	return texts
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)

// taught are the pages whose programs are those of docs/examples, where they are run.
var taught = map[string][]string{
	"README.md":          {"tool/main.go"},
	"docs/first-hour.md": {"hello/main.go", "tool/main.go", "stream/main.go", "structured/main.go", "partial/main.go"},
	"docs/tools.md":      {"toolbox/main.go"},
	"docs/models.md":     {"models/main.go", "fallback/main.go", "policy/main.go"},
	"docs/chat.md":       {"chat/main.go"},
	"docs/web.md":        {"approval/main.go"},
	"docs/testing.md":    {"testing/agent.go", "testing/agent_test.go"},
	"docs/evaluation.md": {"evaluation/guide_test.go"},
}

// TestPages_examples checks that the programs of these pages are those of docs/examples.
func TestPages_examples(t *testing.T) {
	pages, texts := goBlocks(t), exampleTexts(t)
	for page, examples := range taught {
		var have []string
		for _, b := range pages[page] {
			if b.isProgram() {
				have = append(have, b.text)
			}
		}
		require.Len(t, have, len(examples), page)
		for i, name := range examples {
			require.Equal(t, texts[name], have[i], "%s is not docs/examples/%s", page, name)
		}
	}
}

// counted is a row of the table of programs in docs/first-hour.md: its name, and its lines.
var counted = regexp.MustCompile(`(?m)^\| \[(\w+)\]\(examples/(\w+)/main\.go\) \| .* \| (\d+) \|$`)

// TestPages_lines counts the lines of the programs, without blank ones and comments, and checks
// that the table has a row for each.
func TestPages_lines(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/first-hour.md"))
	require.NoError(t, err)
	said := map[string]string{}
	for _, row := range counted.FindAllStringSubmatch(string(page), -1) {
		require.Equal(t, row[1], row[2])
		said[row[1]+"/main.go"] = row[3]
	}
	have := map[string]string{}
	for name, text := range exampleTexts(t) {
		if path.Base(name) == "main.go" {
			have[name] = strconv.Itoa(codeLines(text))
		}
	}
	require.Equal(t, have, said)
}

// codeLines counts the lines of a program that are neither blank nor a comment.
func codeLines(text string) (n int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// TestPages_programs compiles every Go block with a package clause unchanged, all at once, in
// folders that do not exist. It lists the packages with their export data, because this compiles
// them without linking; go vet would need the folders.
func TestPages_programs(t *testing.T) {
	tree, err := filepath.Abs(root)
	require.NoError(t, err)
	dir, html := t.TempDir(), webPage(t)
	overlay := map[string]string{}
	folders := map[string]bool{}
	add := func(folder, name, text string) string {
		real := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay)))
		require.NoError(t, os.WriteFile(real, []byte(text), 0o600))
		place := filepath.Join(tree, "internal", "page", filepath.FromSlash(folder), name)
		require.NotContains(t, overlay, place)
		overlay[place] = real
		folders["./internal/page/"+folder] = true
		return place
	}
	var places []string
	for page, blocks := range goBlocks(t) {
		for _, b := range blocks {
			if !b.isProgram() {
				continue
			}
			folder, name := b.folder(page), "main.go"
			if strings.Contains(b.text, "\t\"testing\"\n") {
				name = "main_test.go"
			}
			places = append(places, fmt.Sprintf("%s is %s:%d", add(folder, name, b.text), page, b.line))
			if strings.Contains(b.text, "\n//go:embed index.html\n") {
				add(folder, "index.html", html)
			}
		}
	}
	require.Greater(t, len(places), 15)
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, list, 0o600))
	args := append([]string{"list", "-test", "-export", "-overlay", overlayFile}, slices.Sorted(maps.Keys(folders))...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	slices.Sort(places)
	require.NoError(t, err, "%s\n%s", out, strings.Join(places, "\n"))
}

// webPage returns the page of the one program that has any.
func webPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/examples/approval/index.html"))
	require.NoError(t, err)
	return string(text)
}

// TestPages_web finds the page of the web app beside its program.
func TestPages_web(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/web.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "\n```html\n"+webPage(t)+"```\n")
}

// TestPages_outputs checks that the body of each program with a stated output is also the body of
// an Example, which is run.
func TestPages_outputs(t *testing.T) {
	code := goCode(t)
	for page, blocks := range goBlocks(t) {
		for _, b := range blocks {
			if !b.isProgram() || !strings.Contains(b.text, "\t// Output:") {
				continue
			}
			_, body, found := strings.Cut(b.text, "\nfunc main() {\n")
			require.True(t, found)
			require.True(t, code.contain("_test.go", body), "%s:%d: no Example has the body of this program", page, b.line)
		}
	}
}

// TestPages_fragments checks that every Go block without a package clause occurs in a Go file,
// unchanged except for its indentation.
func TestPages_fragments(t *testing.T) {
	code := goCode(t)
	for page, blocks := range goBlocks(t) {
		for _, b := range blocks {
			if !b.isProgram() {
				require.True(t, code.contain(".go", b.text), "%s:%d: no Go file has these lines:\n%s", page, b.line, b.text)
			}
		}
	}
}

// block is a fenced block of Go in a page, without the indentation of its fence.
type block struct {
	line int // of the fence
	text string
}

func (b block) isProgram() bool { return strings.HasPrefix(b.text, "package ") }

// folder returns a folder name for a block of a page: a program has its own folder, and the files
// of any other package share one.
func (b block) folder(page string) string {
	folder := strings.NewReplacer("/", "_", ".md", "").Replace(page)
	if name := packageClause.FindStringSubmatch(b.text); name != nil && name[1] != "main" {
		return folder + "/" + name[1]
	}
	return fmt.Sprintf("%s/line%d", folder, b.line)
}

// goBlocks returns the Go blocks of the pages, by the path of the page.
func goBlocks(t *testing.T) map[string][]block {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "cmd/segue/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(d.Name()) == ".md" {
			files = append(files, filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator))))
		}
		return err
	})
	require.NoError(t, err)
	pages := map[string][]block{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		blocks, err := blocksOf(string(text))
		require.NoError(t, err, file)
		pages[file] = blocks
	}
	return pages
}

// fence matches a line that begins or ends a block of code: its indentation, marks, and language.
var fence = regexp.MustCompile("^( *)(```+|~~~+) *([^` ]*)")

func blocksOf(page string) (blocks []block, err error) {
	var open []string // the fence parts of the block around the current line
	var text strings.Builder
	line, begun := 0, 0
	for l := range strings.Lines(page) {
		line++
		found := fence.FindStringSubmatch(strings.TrimRight(l, "\r\n"))
		switch {
		case open == nil && found != nil:
			open, begun = found, line
			text.Reset()
		case open == nil:
		case found != nil && found[3] == "" && strings.HasPrefix(found[2], open[2]):
			if open[3] == "go" {
				blocks = append(blocks, block{line: begun, text: text.String()})
			} else if strings.Contains(strings.ToLower(open[3]), "go") {
				return nil, fmt.Errorf("line %d: write go, not %s", begun, open[3])
			}
			open = nil
		default:
			text.WriteString(strings.TrimPrefix(l, open[1]))
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block does not end", begun)
	}
	return blocks, nil
}

// sources are the Go files of the repository by path, with lines without indentation.
type sources map[string]string

// contain reports whether a file whose path ends with suffix has these lines.
func (s sources) contain(suffix, lines string) bool {
	lines = flat(lines)
	for file, text := range s {
		if strings.HasSuffix(file, suffix) && strings.Contains(text, lines) {
			return true
		}
	}
	return false
}

// flat removes the indentation of lines. The first line begins with a line break, like all others.
func flat(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimLeft(line, " \t"))
	}
	b.WriteByte('\n')
	return b.String()
}

// goCode returns the Go files that are compiled: not files in testdata, nor this package, whose
// tests could quote a page. They are read once.
func goCode(t *testing.T) sources {
	t.Helper()
	code, err := readGoCode()
	require.NoError(t, err)
	return code
}

var readGoCode = sync.OnceValues(func() (sources, error) {
	code := sources{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "testdata", "archtest"}, d.Name()):
			return filepath.SkipDir
		case path.Ext(d.Name()) != ".go":
			return nil
		}
		text, err := os.ReadFile(file)
		code[file] = flat(string(text))
		return err
	})
	return code, err
})
