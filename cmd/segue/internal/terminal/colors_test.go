package terminal

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestColors holds what the program and its Markdown ask of a terminal to bold, dim, italic,
// underlined and struck text, and to red, green and magenta: no background, and no color that is
// badly seen on a light or on a dark one.
func TestColors(t *testing.T) {
	var used []string
	for _, folder := range []string{".", "../markdown"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range regexp.MustCompile(`= "([0-9;]+)"|\\x1b\[([0-9;]+)m`).FindAllStringSubmatch(string(text), -1) {
				used = append(used, found[1]+found[2])
			}
		}
	}
	slices.Sort(used)
	require.Equal(t, []string{"0", "1", "1;4", "2", "3", "31", "32", "35", "4", "9"}, slices.Compact(used))
}
