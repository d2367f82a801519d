package sqlitestore_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// A disk without any room is named as full when the store is opened, not as broken.
func TestOpen_fullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("sqlitestore", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	c := sqlitestore.Config{Path: filepath.Join(dir, "runs.db")}
	s, err := sqlitestore.Open(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, s.Close())

	rest, err := os.Create(filepath.Join(dir, "rest"))
	require.NoError(t, err)
	for err == nil {
		_, err = rest.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, rest.Close())
	_, err = sqlitestore.Open(t.Context(), c)
	require.ErrorIs(t, err, checkpoint.ErrFull)
	require.ErrorContains(t, err, "make room")
}
