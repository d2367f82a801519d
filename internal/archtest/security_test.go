package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThreatModelIsHeld checks that every test named in SECURITY.md exists, and that each line of
// its table and list names at least one. So a promise whose test is renamed or deleted is noticed.
func TestThreatModelIsHeld(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	require.NoError(t, err)
	tests, scripts := testNames(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+|[a-z_]+\\.txtar)`")
	lines := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\n  ", " ")) { // a list's items in one line each
		found := named.FindAllStringSubmatch(line, -1)
		for _, name := range found {
			require.True(t, tests[name[1]] || scripts[name[1]], "SECURITY.md names %s, which there is not", name[1])
		}
		promise := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| who ") || strings.HasPrefix(line, "- **")
		if promise {
			lines++
			require.NotEmpty(t, found, "no test holds this line: %s", line)
		}
	}
	require.GreaterOrEqual(t, lines, 15)
}

// testNames returns the names of all test functions of the tree, and of the scripts of the command
// line.
func testNames(t *testing.T) (tests, scripts map[string]bool) {
	t.Helper()
	tests, scripts = map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".txtar"):
			scripts[filepath.Base(path)] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range bytes.Lines(text) {
				if name, ok := bytes.CutPrefix(line, []byte("func Test")); ok {
					name, _, _ = bytes.Cut(name, []byte("("))
					tests["Test"+string(name)] = true
				}
			}
		}
		return nil
	}))
	return tests, scripts
}
