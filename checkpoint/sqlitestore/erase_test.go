package sqlitestore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

// filesWith returns the files of a folder that hold a text.
func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, name := range all {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		if bytes.Contains(data, []byte(text)) {
			names = append(names, filepath.Base(name))
		}
	}
	return names
}

// Once a run is deleted and the store vacuumed, nothing that was in it is in the files: not its
// records, small and large, its id, labels, reason, messages and snapshots. Other runs are as they
// were.
func TestErase(t *testing.T) {
	const canary = "canary-5f2c"
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "runs.db"))
	keep := first("keep", strings.Repeat("keep", 5000))
	require.NoError(t, s.Append(t.Context(), keep))
	var doomed []checkpoint.Key
	for i := range 20 {
		b := first(fmt.Sprint("run-", canary, i), canary, strings.Repeat(canary, 10_000))
		b.Key.Namespace = "tenant-" + canary
		b.Writer = "writer-" + canary
		b.Header.Reason, b.Header.Labels = "reason-"+canary, map[string]string{"label-" + canary: "value-" + canary}
		b.Header.Waits = []checkpoint.Wait{{ID: canary, Kind: "kind-" + canary}}
		require.NoError(t, s.Append(t.Context(), b))
		require.NoError(t, s.Post(t.Context(), checkpoint.Message{ID: canary, Key: b.Key, Data: []byte("message-" + canary)}))
		for n := 1; n <= 2; n++ { // the first is written over
			require.NoError(t, s.SaveSnapshot(t.Context(), b.Key, checkpoint.Snapshot{Records: n, Data: []byte(strings.Repeat("state-"+canary, n*5000))}))
		}
		doomed = append(doomed, b.Key)
		require.NoError(t, s.Append(t.Context(), next(fmt.Sprint("beside-", i), 1, "beside")))
	}
	require.NotEmpty(t, filesWith(t, dir, canary), "it can be found")
	require.NoError(t, s.Delete(t.Context(), doomed...))
	require.NotEmpty(t, filesWith(t, dir, canary), "deleting alone does not do it")
	before := sizeOf(t, filepath.Join(dir, "runs.db"))
	require.NoError(t, s.Vacuum(t.Context()))
	require.Empty(t, filesWith(t, dir, canary))
	if before > 0 {
		require.Zero(t, sizeOf(t, filepath.Join(dir, "runs.db-wal")))
	}
	data, err := journal(t.Context(), s, "keep")
	require.NoError(t, err)
	require.Equal(t, []string{strings.Repeat("keep", 5000)}, data)
	require.NoError(t, s.Append(t.Context(), next("keep", 2, "2")))
}

// Vacuum waits for nobody who reads a run record by record.
func TestVacuum_whileReading(t *testing.T) {
	s := fresh(t)
	require.NoError(t, s.Append(t.Context(), first("r", make([]string, 1000)...)))
	n := 0
	for _, err := range s.Read(t.Context(), key("r"), 1) {
		require.NoError(t, err)
		if n++; n == 1 {
			require.NoError(t, s.Vacuum(t.Context()))
		}
	}
	require.Equal(t, 1000, n)
}
