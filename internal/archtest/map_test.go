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

// TestMap checks the map of packages in doc.go. It must have a line for each package of all modules
// of the workspace and no other, and each of its lists must be in the order of the layers. A line
// for "a/..." stands for all packages below a.
func TestMap(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "doc.go"))
	require.NoError(t, err)
	number := layerOf()
	var names []string
	last := 0 // the layer of the previous line
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

// everyPackage returns the packages of all modules of the workspace, except the one with the map.
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

// unmapped returns the wanted names that are not in the list. In both, "a/..." stands for all
// packages below a.
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

// TestContributing checks that the places named in CONTRIBUTING.md exist, except those for new
// things.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	_, where, ok := strings.Cut(string(text), "## Where a change goes\n")
	require.True(t, ok)
	where, _, _ = strings.Cut(where, "\n## ")
	places := regexp.MustCompile("`(\\w+/[\\w./-]*)`").FindAllStringSubmatch(where, -1)
	require.Greater(t, len(places), 30)
	for _, place := range places {
		if !strings.Contains(place[1], "tidy") && !strings.HasPrefix(place[1], "testing/") { // of the standard library
			_, err := os.Stat(filepath.Join(root, place[1]))
			require.NoError(t, err)
		}
	}
}
