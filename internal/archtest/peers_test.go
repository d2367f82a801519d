package archtest

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// peerRow is a row of the table of docs/internal/side-by-side.md: a program, its lines, and those
// of the same programs written with other libraries.
var peerRow = regexp.MustCompile(`(?m)^\| \[(\w+)\]\(\.\./examples/(\w+)/main\.go\) \| (\d+) \| (.*) \| (.*) \|$`)

// peerCell is a number of lines, and the program that has them.
var peerCell = regexp.MustCompile(`^\[(\d+)\]\(peers/([\w-]+)/(\w+)\.txt\)$`)

// TestPages_peers counts the lines of the programs of docs/internal/peers. None may be shorter than
// ours, and each must be in the table.
func TestPages_peers(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/internal/side-by-side.md"))
	require.NoError(t, err)
	ours, shown := exampleTexts(t), map[string]bool{}
	for _, row := range peerRow.FindAllStringSubmatch(string(page), -1) {
		name := row[1]
		require.Equal(t, name, row[2])
		require.Equal(t, row[3], strconv.Itoa(codeLines(ours[name+"/main.go"])), name)
		for i, library := range []string{"fantasy", "openai-agents-go"} {
			if row[4+i] == "not possible" {
				require.Contains(t, string(page), "- **"+name+"**: ", "no reason")
				continue
			}
			cell := peerCell.FindStringSubmatch(row[4+i])
			require.NotNil(t, cell, row[0])
			require.Equal(t, []string{library, name}, cell[2:])
			theirs := peerText(t, library+"/"+name+".txt")
			require.Equal(t, cell[1], strconv.Itoa(codeLines(theirs)), row[0])
			require.GreaterOrEqual(t, codeLines(theirs), codeLines(ours[name+"/main.go"]), "ours is longer: %s", row[0])
			shown[library+"/"+name+".txt"] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "docs/internal/peers/*/*.txt"))
	require.NoError(t, err)
	require.Len(t, files, len(shown), "a program that is not in the table, or is there twice")
	require.Len(t, files, 20)
}

// weekRow is a row of the second table of that page: a program and its lines.
var weekRow = regexp.MustCompile(`(?m)^\| \[(\w+)\]\(\.\./examples/\w+/main\.go\): .* \| (\d+) \| .* \|$`)

// TestPages_week counts the lines of the programs of a first week.
func TestPages_week(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/internal/side-by-side.md"))
	require.NoError(t, err)
	rows := weekRow.FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 5)
	for _, row := range rows {
		text, err := os.ReadFile(filepath.Join(root, "docs/examples", row[1], "main.go"))
		require.NoError(t, err)
		require.Equal(t, row[2], strconv.Itoa(codeLines(string(text))), row[1])
	}
}

// TestPages_peerPages checks that docs/internal/side-by-side.md states the lines of the web pages,
// which its table does not count.
func TestPages_peerPages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/internal/side-by-side.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(root, "docs/internal/peers/*/*.html"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	var lines []int
	for _, file := range append([]string{filepath.Join(root, "docs/examples/approval/index.html")}, files...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lines = append(lines, codeLines(string(text)))
	}
	require.Equal(t, lines[1], lines[2])
	require.Contains(t, string(page), fmt.Sprintf("ours has %d lines, theirs have %d.", lines[0], lines[1]))
	programs := []string{exampleTexts(t)["approval/main.go"], peerText(t, "fantasy/approval.txt"), peerText(t, "openai-agents-go/approval.txt")}
	for i, program := range programs {
		lines[i] += codeLines(program)
	}
	require.Contains(t, string(page), fmt.Sprintf("the three have %d, %d and %d lines.", lines[0], lines[1], lines[2]))
	started, err := os.ReadFile(filepath.Join(root, "docs/first-hour.md"))
	require.NoError(t, err)
	require.Contains(t, string(started), fmt.Sprintf("[page](examples/approval/index.html) has %d lines more", lines[0]-codeLines(programs[0])))
}

// peerText returns a program, which is formatted as ours are.
func peerText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/internal/peers", filepath.FromSlash(name)))
	require.NoError(t, err)
	formatted, err := format.Source(text)
	require.NoError(t, err, name)
	require.Equal(t, string(formatted), string(text), "%s is not formatted by gofmt", name)
	for line := range strings.Lines(string(text)) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 131, name)
	}
	return string(text)
}
