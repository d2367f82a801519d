package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/config"
)

// A path of a configuration does not pose as what is said of another one.
func TestConfigCheck_path(t *testing.T) {
	for _, text := range []string{"agents: {a: {}}\n", "agents: {a: {}}\nx: 1\n"} {
		folder := filepath.Join(t.TempDir(), "x\nsegue: y")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Skip("no such name here: ", err)
		}
		file := filepath.Join(folder, config.FileName)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var stdout, stderr bytes.Buffer
		run([]string{"config", "check", file}, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
		require.Contains(t, stdout.String()+stderr.String(), `x\nsegue: y`)
		require.NotContains(t, stdout.String()+stderr.String(), "x\nsegue: y")
	}
}
