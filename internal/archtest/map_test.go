package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var mapLine = regexp.MustCompile(`^//\t(\S+) {2,}\S`)

// TestMap holds the map of packages in doc.go: it has a line for each package of all modules of the
// workspace and no other, and each of its lists is in the order of the layers. A line for "a/..."
// stands for all packages below a.
func TestMap(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "doc.go"))
	require.NoError(t, err)
	number := layerOf()
	var names []string
	last := 0 // the layer of the line before
	for line := range strings.Lines(string(text)) {
		found := mapLine.FindStringSubmatch(line)
		if found == nil {
			last = 0
			continue
		}
		require.LessOrEqual(t, len(line), 100, line)
		names = append(names, found[1])
		if layer, ok := number[found[1]]; ok {
			require.GreaterOrEqual(t, layer, last, "%s stands below what is above it", found[1])
			last = layer
		}
	}
	require.Empty(t, unmapped(names, everyPackage(t)), "packages that the map leaves out")
	require.Empty(t, unmapped(everyPackage(t), names), "lines for what is not there")
}

// everyPackage returns the packages of all modules of the workspace, but for that of the map.
func everyPackage(t *testing.T) (names []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", module+"...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		if name := short(path); name != "." {
			names = append(names, name)
		}
	}
	return names
}

// unmapped returns the wanted names that are not in the list. "a/..." in either stands for what is
// below a.
func unmapped(list, wanted []string) (missing []string) {
	covers := func(pattern, name string) bool {
		above, all := strings.CutSuffix(pattern, "...")
		return pattern == name || all && strings.HasPrefix(name, above)
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(list, func(other string) bool { return covers(other, name) || covers(name, other) }) {
			missing = append(missing, name)
		}
	}
	return missing
}

func TestUnmapped(t *testing.T) {
	require.Equal(t, []string{"b"}, unmapped([]string{"a", "c/..."}, []string{"a", "b", "c/d", "c/d/e"}))
	require.Equal(t, []string{"c/..."}, unmapped([]string{"a", "d"}, []string{"a", "c/..."}))
	require.Empty(t, unmapped([]string{"c/d"}, []string{"c/..."}))
}

// TestContributing holds the places that CONTRIBUTING.md names to be there, but for those of what
// is new.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	places := regexp.MustCompile("`([\\w.-]+/[\\w./-]*)`").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(places), 30)
	for _, place := range places {
		if !strings.Contains(place[1], "tidy") {
			_, err := os.Stat(filepath.Join(root, place[1]))
			require.NoError(t, err)
		}
	}
}
