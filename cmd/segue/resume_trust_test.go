package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/trust"
)

// TestResume_trust goes on with a run whose configuration was found: it must be trusted as it is
// now, wherever the command is run.
func TestResume_trust(t *testing.T) {
	folder, home := t.TempDir(), t.TempDir()
	path := filepath.Join(folder, "segue.yaml")
	said := []byte("agents: {one: {system: Be kind.}}\nstore: {path: theirs.db}\n")
	require.NoError(t, os.WriteFile(path, said, 0o600))
	env := map[string]string{"XDG_STATE_HOME": home, "HOME": home, "OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_API_KEY": canary}
	getenv := func(name string) string { return env[name] }
	trusts := func(text []byte) {
		store, err := trust.UserStore(getenv)
		require.NoError(t, err)
		whole, err := trust.Path(path)
		require.NoError(t, err)
		require.NoError(t, store.Add(trust.FileOf(whole, text, "")))
	}
	command := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		code := execute(args, strings.NewReader(""), &stdout, &stderr, getenv)
		return code, stdout.String() + stderr.String()
	}
	t.Chdir(folder)
	trusts(said)
	model := newModel(t, writesFile, answersAll)
	env["OPENAI_BASE_URL"] = model.URL
	code, shown := command("run", "--dir", t.TempDir(), "task")
	require.Equal(t, cli.ExitWaiting, code, shown)
	require.Contains(t, shown, "segue.yaml was found, not named, and so cannot say where runs are kept, nor for how long")
	require.NoFileExists(t, filepath.Join(folder, "theirs.db"))

	t.Chdir(t.TempDir())
	changed := []byte("agents: {one: {system: Be mean.}}\n")
	require.NoError(t, os.WriteFile(path, changed, 0o600))
	code, shown = command("resume", "--approve", "always")
	require.Equal(t, cli.ExitUsage, code, shown)
	require.Contains(t, shown, "has changed since it was trusted")
	trusts(changed)
	code, shown = command("resume", "--approve", "always")
	require.Contains(t, shown, "segue.yaml has changed since the run began")
	require.Contains(t, shown, "--approve: always, and none when the run began")
	require.Equal(t, cli.ExitWaiting, code, "what was asked for is still asked: "+shown)
}
