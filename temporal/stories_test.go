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

// The runs of the stories of all strategies come to the same on Temporal as in the loop. The tests of
// the strategies make them, which have the strategies that the stories name.
func TestStories(t *testing.T) {
	elsewhere(t, "strategytest/ways_temporal.go", "ways_test.go", "^Test(S1_2_|Ways$)", "./strategy/...")
}

// Random runs come to the same on Temporal as in the loop, also if activities die. RUNS=n says how
// many.
func TestRandom(t *testing.T) {
	elsewhere(t, "orchestrator/random_temporal_test.go", "random_test.go", "^TestOnTemporal$", "./orchestrator")
}

// elsewhere runs tests of other packages against the shared server, with a file of testdata added to
// one of them, which compares runs.
func elsewhere(t *testing.T, added, file, tests, packages string) {
	t.Helper()
	connect(t)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, added): filepath.Join(root, "temporal/testdata", file),
	}})
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
	runs, equal := strings.Count(string(out), "record by record: "), strings.Count(string(out), "record by record: true")
	t.Logf("%d runs, of which %d were compared record by record", runs, equal)
	require.NotZero(t, equal)
}
