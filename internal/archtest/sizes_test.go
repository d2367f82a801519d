package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSizes limits folders that grew too large in the past, in files and in lines of code. It
// counts files that are not tests, and lines that are neither blank nor only a comment.
func TestSizes(t *testing.T) {
	for name, room := range map[string]struct {
		folders      []string
		files, lines int // at most; 0 means any number
	}{
		"formats of text": {folders: []string{"markdownpolicy"}, files: 39},
		"tools":           {folders: []string{"tools"}, lines: 1780},
		"plans":           {folders: []string{"strategy/planreviseexecute", "strategy/planreviseexecute/internal/plantext"}, lines: 1650},
		"order of plans":  {folders: []string{"strategy/planreviseexecute/internal/planorder"}, lines: 500},
	} {
		t.Run(name, func(t *testing.T) {
			files, lines := 0, 0
			for _, folder := range room.folders {
				found := filesOf(t, folder)
				require.NotEmpty(t, found, folder)
				files += len(found)
				for _, file := range found {
					text, err := os.ReadFile(file)
					require.NoError(t, err)
					lines += linesOfCode(string(text))
				}
			}
			t.Logf("%d files, %d lines of code", files, lines)
			if room.files > 0 {
				require.LessOrEqual(t, files, room.files)
			}
			if room.lines > 0 {
				require.LessOrEqual(t, lines, room.lines)
			}
		})
	}
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
