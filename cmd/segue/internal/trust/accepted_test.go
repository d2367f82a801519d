package trust

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAccepted(t *testing.T) {
	s := AcceptedStore{filepath.Join(t.TempDir(), "state", "mcp.json")}
	none, err := s.Load("npx x")
	require.NoError(t, err)
	require.Empty(t, none)
	one := map[string]AcceptedTool{"a": {"f1", "Does a."}}
	require.NoError(t, s.Accept("npx x", one))
	require.NoError(t, s.Accept("http://h", map[string]AcceptedTool{"b": {Fingerprint: "f2"}}))
	for server, want := range map[string]map[string]AcceptedTool{"npx x": one, "http://h": {"b": {Fingerprint: "f2"}}, "x": nil} {
		got, err := s.Load(server)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	info, err := os.Stat(s.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	for text, want := range map[string]string{
		`{"version":2}`:                     "it has version 2, and this segue knows version 1; remove it to start again",
		`{"version":1,"servers":{"x":"y"}}`: "cannot unmarshal",
		`{"version":1,"others":{}}`:         "unknown field",
		`half`:                              "invalid character",
	} {
		require.NoError(t, os.WriteFile(s.Path, []byte(text), 0o600))
		_, err := s.Load("x")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, s.Accept("x", one), want)
	}
}
