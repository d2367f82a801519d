package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
)

// commandsIn returns a function that executes command lines, with the state folder home.
func commandsIn(home, model string) func(args ...string) (code int, said string) {
	env := map[string]string{"XDG_STATE_HOME": home, "OPENAI_BASE_URL": model}
	return func(args ...string) (int, string) {
		var said bytes.Buffer
		code := execute(args, nil, &said, &said, func(name string) string { return env[name] })
		return code, said.String()
	}
}

// TestForget_damaged erases a run whose head is damaged: until then it is named beside the others.
func TestForget_damaged(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	segue := commandsIn(home, newModel(t, answersAll, answersAll).URL)
	for range 2 {
		code, said := segue("run", "-q", "--config", "", "task")
		require.Zero(t, code, said)
	}
	place := filepath.Join(home, "segue", "runs.db")
	data, err := os.ReadFile(place)
	require.NoError(t, err)
	damaged := bytes.Replace(data, []byte(`"status":"done"`), []byte(`"status":"gone"`), 1)
	require.NotEqual(t, data, damaged)
	require.NoError(t, os.WriteFile(place, damaged, 0o600))

	code, said := segue("runs")
	require.Equal(t, cli.ExitFailed, code, said)
	require.Contains(t, said, "task", "the other run")
	_, command, ok := strings.Cut(said, "; erase such a run with: segue ")
	require.True(t, ok, said)
	code, said = segue(strings.Fields(command)...)
	require.Zero(t, code, said)
	require.Contains(t, said, "erased 1 run: ")
	code, said = segue("runs")
	require.Zero(t, code, said)
	require.Equal(t, 1, strings.Count(said, "\n"), said)
}

// TestRun_unkept makes a run although its first record cannot be stored, if the store is the usual
// one: it can do without. A store that was named must work.
func TestRun_unkept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	model := newModel(t, answersAll, answersAll, answersAll)
	segue := commandsIn(home, model.URL)
	code, said := segue("run", "-q", "--config", "", "task")
	require.Zero(t, code, said)

	place := filepath.Join(home, "segue", "runs.db")
	f, err := os.OpenFile(place, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, 12000), 8192)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	code, said = segue("run", "-q", "--config", "", "task")
	require.Zero(t, code, said)
	require.Contains(t, said, "segue: this run is not kept, and cannot be resumed: "+place)
	code, said = segue("run", "-q", "--config", "", "--store", place, "task")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, said, "the stored data are damaged")
}
