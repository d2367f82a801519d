package foldercopy_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/foldercopy"
)

// filled returns a folder with two files, and a link where there are links.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "deep"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "deep", "b.txt"), []byte("two"), 0o600))
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink("/nowhere", filepath.Join(dir, "link")))
	}
	return dir
}

func TestMake(t *testing.T) {
	from, to := filled(t), t.TempDir()
	require.NoError(t, foldercopy.Make(to, from, foldercopy.Limits{Files: 4, Bytes: 6}))
	was, err := foldercopy.Read(from)
	require.NoError(t, err)
	now, err := foldercopy.Read(to)
	require.NoError(t, err)
	require.Equal(t, was, now)
	require.Empty(t, was.Differs(now))

	require.NoError(t, os.WriteFile(filepath.Join(to, "deep", "b.txt"), []byte("2"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(to, "new.txt"), nil, 0o600))
	now, err = foldercopy.Read(to)
	require.NoError(t, err)
	require.Equal(t, "deep/b.txt", was.Differs(now))
	require.Equal(t, "deep/b.txt", now.Differs(was))

	require.NoError(t, foldercopy.Clear(to))
	now, err = foldercopy.Read(to)
	require.NoError(t, err)
	require.Empty(t, now)
	data, err := os.ReadFile(filepath.Join(from, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "one", string(data), "the original stays")
}

func TestMake_limits(t *testing.T) {
	require.ErrorContains(t, foldercopy.Make(t.TempDir(), filled(t), foldercopy.Limits{Files: 1}), "it holds more than 1 files")
	require.ErrorContains(t, foldercopy.Make(t.TempDir(), filled(t), foldercopy.Limits{Bytes: 5}), "its files have more than 5 bytes")
	require.Error(t, foldercopy.Make(t.TempDir(), filepath.Join(t.TempDir(), "missing"), foldercopy.Limits{}))
}
