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
)

// wantRefused carries out command lines that read a configuration in every way that it can be named
// or found, and wants each of them to refuse it.
func wantRefused(t *testing.T, file, want string) {
	t.Helper()
	home := t.TempDir()
	own := filepath.Join(home, ".config", "segue")
	require.NoError(t, os.MkdirAll(own, 0o700))
	require.NoError(t, os.Rename(file, filepath.Join(own, locate.FileName)))
	named := filepath.Join(own, locate.FileName)
	empty := t.TempDir()
	for name, tt := range map[string]struct {
		folder string
		env    map[string]string
		args   []string
	}{
		"run, flag":        {empty, nil, []string{"run", "--config", named, "task"}},
		"run, environment": {empty, map[string]string{"SEGUE_CONFIG": named}, []string{"run", "task"}},
		"run, own":         {empty, map[string]string{"HOME": home, "USERPROFILE": home}, []string{"run", "task"}},
		"run, found":       {own, nil, []string{"run", "task"}},
		"trust":            {own, nil, []string{"trust"}},
		"trust, argument":  {empty, nil, []string{"trust", named}},
		"agents":           {own, nil, []string{"agents"}},
		"check":            {empty, nil, []string{"config", "check", named}},
	} {
		t.Chdir(tt.folder)
		var stdout, stderr bytes.Buffer
		code := execute(tt.args, strings.NewReader(""), &stdout, &stderr, func(variable string) string { return tt.env[variable] })
		require.Equal(t, cli.ExitUsage, code, "%s: %s", name, stderr.String())
		require.Contains(t, stderr.String(), "segue: cannot read the configuration: read ", name)
		require.Contains(t, stderr.String(), want, name)
		require.Empty(t, stdout.String(), name)
	}
}

// A configuration is a regular file of at most a mebibyte.
func TestConfigRead_refuses(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.Mkdir(folder, 0o700))
		wantRefused(t, folder, locate.FileName+": it is a folder")
	})
	t.Run("long", func(t *testing.T) {
		long := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.WriteFile(long, bytes.Repeat([]byte("# long\n"), 300_000), 0o600))
		wantRefused(t, long, locate.FileName+": it has more than 1048576 bytes")
	})
}

// A path of a configuration does not pose as what is said of another one.
func TestConfigCheck_path(t *testing.T) {
	for _, text := range []string{"agents: {a: {}}\n", "agents: {a: {}}\nx: 1\n"} {
		folder := filepath.Join(t.TempDir(), "x\nsegue: y")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Skip("no such name here: ", err)
		}
		file := filepath.Join(folder, locate.FileName)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var stdout, stderr bytes.Buffer
		execute([]string{"config", "check", file}, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
		require.Contains(t, stdout.String()+stderr.String(), `x\nsegue: y`)
		require.NotContains(t, stdout.String()+stderr.String(), "x\nsegue: y")
	}
}
