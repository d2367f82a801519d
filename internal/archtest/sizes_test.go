package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// budgets are the lines of code of the large packages; a release adds no more than it edits away.
var budgets = map[string]int{
	"cmd/segue/config":     2600,
	"machine":              5700,
	"markdownpolicy":       7900,
	"orchestrator":         7380,
	"strategytest/explore": 5100,
	"tools/mcptools":       2700,
}

// TestSizes limits every package to 25 files and 2,500 lines of code, or to its budget. It counts
// files that are not tests, and lines that are neither blank nor only a comment.
func TestSizes(t *testing.T) {
	for folder := range foldersOf(t) {
		files := filesOf(t, folder)
		lines := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			lines += linesOfCode(string(text))
		}
		budget, large := budgets[folder]
		if !large {
			budget = 2500
		}
		require.LessOrEqual(t, len(files), 25, folder)
		require.LessOrEqual(t, lines, budget, folder)
	}
}

// foldersOf returns the folders of all modules that have Go files, but for test data.
func foldersOf(t *testing.T) map[string]bool {
	t.Helper()
	folders := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && rel != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(rel, ".go") {
			folders[filepath.ToSlash(filepath.Dir(rel))] = true
		}
		return nil
	}))
	return folders
}

// filesOf returns the Go files of a folder, without tests and subfolders.
func filesOf(t *testing.T, folder string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, file := range all {
		if !strings.HasSuffix(file, "_test.go") {
			files = append(files, file)
		}
	}
	return files
}

var notCode = regexp.MustCompile(`^\s*(//.*)?\n?$`)

func linesOfCode(text string) (n int) {
	for line := range strings.Lines(text) {
		if !notCode.MatchString(line) {
			n++
		}
	}
	return n
}
