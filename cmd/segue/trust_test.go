package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/cmd/segue/internal/locate"
	"github.com/segue-go/segue/cmd/segue/internal/trust"
)

// TestTrust_tried has the prompts of a file that was found tried once it is trusted, and no longer
// when it is not.
func TestTrust_tried(t *testing.T) {
	const text = "agents: {a: {config: {prompts: {conclude: '{{.Nothing}}'}}}}\n"
	home, folder := t.TempDir(), t.TempDir()
	t.Chdir(folder)
	require.NoError(t, os.WriteFile(locate.FileName, []byte(text), 0o600))
	getenv := func(name string) string { return map[string]string{"HOME": home, "USERPROFILE": home}[name] }
	check := func() (int, string) {
		var stdout, stderr bytes.Buffer
		code := execute([]string{"config", "check"}, strings.NewReader(""), &stdout, &stderr, getenv)
		return code, stderr.String()
	}
	code, said := check()
	require.Equal(t, cli.ExitDone, code, said)
	require.Contains(t, said, "is not trusted: its prompts and schemas are not tried")

	store, err := trust.UserStore(getenv)
	require.NoError(t, err)
	path, err := trust.Path(locate.FileName)
	require.NoError(t, err)
	require.NoError(t, store.Add(trust.FileOf(path, []byte(text), "")))
	code, said = check()
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, said, "agents.a.config.prompts.conclude: ")

	require.NoError(t, os.WriteFile(store.Path, []byte("{"), 0o600))
	code, said = check()
	require.Equal(t, cli.ExitDone, code, said)
	require.Contains(t, said, "is not trusted: ")
}

// segue trust --list says of each file whether it still is as it was.
func TestTrust_list(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	env := map[string]string{"XDG_STATE_HOME": t.TempDir()}
	call := func(args ...string) outcomeOf {
		var stdout, stderr bytes.Buffer
		code := execute(args, strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] })
		return outcomeOf{code, stdout.String(), stderr.String()}
	}
	require.Equal(t, outcomeOf{}, call("trust", "--list"))
	store, err := trust.UserStore(func(name string) string { return env[name] })
	require.NoError(t, err)
	for _, name := range []string{"a", "b", "c\x1b"} {
		path := filepath.Join(folder, name)
		require.NoError(t, store.Add(trust.FileOf(path, []byte("one"), "")))
		require.NoError(t, os.WriteFile(path, []byte("one"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "b"), []byte("two"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(folder, "c\x1b")))
	want := "trusted     " + filepath.Join(folder, "a") + "\nchanged     " + filepath.Join(folder, "b") + "\nunreadable  " + filepath.Join(folder, `c\x1b`) + "\n"
	require.Equal(t, outcomeOf{stdout: want}, call("trust", "--list"))
	require.Equal(t, outcomeOf{}, call("trust", "--remove", filepath.Join(folder, "c\x1b")))
	got := call("trust", "--remove", filepath.Join(folder, "gone", "x"))
	require.Equal(t, cli.ExitUsage, got.code)
	require.Contains(t, got.stderr, "is not trusted; segue trust --list lists what is")
	require.Equal(t, 2, strings.Count(call("trust", "--list").stdout, "\n"))
}
