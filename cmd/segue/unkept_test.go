package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun_unkept makes a run although its first record cannot be stored, if the store is the usual
// one: it can do without. A store that was named must work.
func TestRun_unkept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	model := newModel(t, answersAll, answersAll, answersAll)
	segue := func(args ...string) (code int, said string) {
		var stderr bytes.Buffer
		env := map[string]string{"XDG_STATE_HOME": home, "OPENAI_BASE_URL": model.URL}
		code = run(args, nil, new(bytes.Buffer), &stderr, func(name string) string { return env[name] })
		return code, stderr.String()
	}
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
	require.Contains(t, said, "segue: this run is not kept, and cannot be resumed: sqlitestore: "+place)
	code, said = segue("run", "-q", "--config", "", "--store", place, "task")
	require.Equal(t, exitUsage, code)
	require.Contains(t, said, "the file is damaged")
}
