package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/age"
)

// A file that was found says nothing of where runs are kept, nor for how long.
func TestStore(t *testing.T) {
	whole := "agents: {a: {}}\nstore: {path: runs.db, keep: 1s}\n"
	c, err := Parse(filepath.Join("some", "segue.yaml"), []byte(whole))
	require.NoError(t, err)
	require.Equal(t, filepath.Join("some", "runs.db"), c.StorePath())
	require.Equal(t, time.Second, c.KeepRuns())
	c.Found = true
	require.Empty(t, c.StorePath())
	require.Equal(t, age.DefaultKeep, c.KeepRuns())

	for text, want := range map[string]time.Duration{"{}": age.DefaultKeep, "{path: none}": age.DefaultKeep, "{keep: always}": -1} {
		c, err := Parse("segue.yaml", []byte("agents: {a: {}}\nstore: "+text+"\n"))
		require.NoError(t, err, text)
		require.Equal(t, want, c.KeepRuns(), text)
		require.Equal(t, c.Store.Path, c.StorePath())
	}
}
