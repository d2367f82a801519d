package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "90s": 90 * time.Second, "12h": 12 * time.Hour, "30d": DefaultKeep, "8w": 56 * 24 * time.Hour, "36500d": 36500 * 24 * time.Hour,
	} {
		got, err := ParseAge(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "d", "30", "-1d", "1.5h", "30 d", "30days", "36501d", "99999999999999999999d", "1y"} {
		_, err := ParseAge(text)
		require.ErrorContains(t, err, "must be an age", text)
	}
}

// A file that was found says nothing of where runs are kept, nor for how long.
func TestStore(t *testing.T) {
	whole := "agents: {a: {}}\nstore: {path: runs.db, keep: 1s}\n"
	c, err := Parse(filepath.Join("some", FileName), []byte(whole))
	require.NoError(t, err)
	require.Equal(t, filepath.Join("some", "runs.db"), c.StorePath())
	require.Equal(t, time.Second, c.KeepRuns())
	c.Found = true
	require.Empty(t, c.StorePath())
	require.Equal(t, DefaultKeep, c.KeepRuns())

	for text, want := range map[string]time.Duration{"{}": DefaultKeep, "{path: none}": DefaultKeep, "{keep: always}": -1} {
		c, err := Parse(FileName, []byte("agents: {a: {}}\nstore: "+text+"\n"))
		require.NoError(t, err, text)
		require.Equal(t, want, c.KeepRuns(), text)
		require.Equal(t, c.Store.Path, c.StorePath())
	}
	_, err = Parse(FileName, []byte("agents: {a: {}}\nstore: {keep: long}\n"))
	require.EqualError(t, err, "segue.yaml:2:9: store.keep: must be an age, such as 12h, 30d or 8w")
	_, err = Parse(FileName, []byte("agents: {a: {}}\nstore: runs.db\n"))
	require.Error(t, err)
}
