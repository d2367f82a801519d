package sqlitestore_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
)

// What is sealed stands in no file while the run is there; what is forgotten, with its forks,
// stands in none afterwards, its ids neither.
func TestForget_inAFile(t *testing.T) {
	const canary, id = "canary-5f2c", "run-71b3"
	dir := t.TempDir()
	inner := open(t, filepath.Join(dir, "runs.db"))
	secret, err := sealed.NewKey("k", bytes.Repeat([]byte{7}, sealed.SecretSize))
	require.NoError(t, err)
	s, err := sealed.New(inner, sealed.Keys{Current: secret})
	require.NoError(t, err)
	in, ok := checkpoint.As[checkpoint.Inbox](s)
	require.True(t, ok)
	origin := ""
	for _, run := range []string{id, id + "-fork", id + "-fork-of-fork"} {
		b := first(run, canary)
		b.Header.Origin.Run = origin
		require.NoError(t, s.Append(t.Context(), b))
		require.NoError(t, in.Post(t.Context(), checkpoint.Message{ID: run, Key: b.Key, Data: []byte(canary)}))
		origin = run
	}
	require.NoError(t, s.Append(t.Context(), first("stays", "stays")))
	require.Empty(t, filesWith(t, dir, canary))
	require.NotEmpty(t, filesWith(t, dir, id))
	data, err := journal(t.Context(), s, id)
	require.NoError(t, err)
	require.Equal(t, []string{canary}, data)

	got, err := checkpoint.Forget(t.Context(), s, key(id))
	require.NoError(t, err)
	require.Len(t, got.Runs, 3)
	require.Equal(t, 3, got.Messages)
	require.Empty(t, filesWith(t, dir, id))
	data, err = journal(t.Context(), s, "stays")
	require.NoError(t, err)
	require.Equal(t, []string{"stays"}, data)
}
