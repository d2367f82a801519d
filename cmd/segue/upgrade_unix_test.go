//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/internal/waittest"
)

// TestUpgrade goes on with what the command of commit 7e3444e1 has kept: a run that waits for an
// answer, one that was interrupted while its model was asked, and a session of two turns.
func TestUpgrade(t *testing.T) {
	const waits, interrupted = "01a2222c-1cd1-7496-91a2-f6b4fb06d9a9", "01a2222c-1df1-747a-9478-6725e55db899"
	k := newKeptRun(t)
	config := filepath.Join(k.dir, "own.yaml")
	require.NoError(t, os.WriteFile(config, []byte("store: {keep: always}\nagents: {any: {}}\n"), 0o600))
	t.Setenv("SEGUE_CONFIG", config)
	t.Setenv("OPENAI_BASE_URL", k.model.URL)
	kept, err := os.ReadFile(filepath.Join("testdata", "upgrade", "7e3444e1.db"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(k.home, "segue"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(k.home, "segue", "runs.db"), kept, 0o600))
	says := func(args ...string) string {
		cmd, stdout, stderr := k.command(args...)
		k.ends(cmd, stderr, cli.ExitDone)
		return stdout.String()
	}
	goesOn := func(run string) (asked string) {
		cmd, stdout, stderr := k.command("resume", run)
		asked = waittest.Receive(t, k.model.asked)
		k.model.replies <- answersAll
		k.ends(cmd, stderr, cli.ExitDone)
		require.Equal(t, "All done.\n", stdout.String())
		return asked
	}
	require.Regexp(t, interrupted+` +interrupted .*\n.*trip.2 +done .*\n.*trip.1 +done .*\n.*`+waits+` +waiting .*`, says("runs"))
	require.Equal(t, "4 runs: 4 the same, 0 in other words, 0 different, 0 not compared\n", says("diff", "--all"))
	says("answer", waits, "red")
	require.Contains(t, goesOn(waits), "red")
	require.Contains(t, goesOn(interrupted), "hang")
	asked := k.says("trip", "And now?")
	for _, told := range []string{"I am Ann.", "Hello, Ann.", "Who am I?", "And now?"} {
		require.Contains(t, asked, told)
	}
}
