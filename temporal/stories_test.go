package temporal

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The runs of the stories of all strategies come to the same on Temporal as in the loop. The tests
// of the strategies make them, which have the strategies that the stories name.
func TestStories(t *testing.T) {
	elsewhere(t, map[string]string{
		"strategytest/ways_temporal.go": "ways_test.go", "strategytest/ways_temporal_resumed.go": "resumed_test.go",
	}, "^Test(S1_2_|Ways$)", "./strategy/...")
}

// Random runs come to the same on Temporal as in the loop, also if activities die. RUNS=n says how
// many.
func TestRandom(t *testing.T) {
	elsewhere(t, map[string]string{"orchestrator/random_temporal_test.go": "random_test.go"}, "^TestOnTemporal$", "./orchestrator")
}

// elsewhere runs tests of other packages against the shared server, with files added to those that
// compare runs: they stand in testdata, by the names that they get.
func elsewhere(t *testing.T, added map[string]string, tests, packages string) {
	t.Helper()
	connect(t)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	files := map[string]string{}
	for name, file := range added {
		files[filepath.Join(root, name)] = filepath.Join(root, "temporal/testdata", file)
	}
	text, err := json.Marshal(map[string]any{"Replace": files})
	require.NoError(t, err)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count", "1", "-timeout", "50m", "-parallel", "20", "-v", "-run", tests, packages)
	address := os.Getenv("TEMPORAL_ADDRESS")
	if address == "" {
		address = shared.address
	}
	cmd.Dir, cmd.Env = root, append(os.Environ(), "TEMPORAL_ADDRESS="+address)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	count := func(what string) int { return strings.Count(string(out), what) }
	t.Logf("%d runs, %d of them compared record by record; %d of several workers; %d skipped",
		count("record by record: "), count("record by record: true"), count("compared: "), count("--- SKIP"))
	require.NotZero(t, count("record by record: true"))
}
