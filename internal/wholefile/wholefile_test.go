package wholefile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/wholefile"
)

// A file is replaced, and can be read by its owner alone. One that cannot be replaced is left, and
// nothing lies beside it.
func TestReplace(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "a.json")
	require.NoError(t, wholefile.Replace(file, []byte("one")))
	require.NoError(t, os.Chmod(file, 0o644))
	require.NoError(t, wholefile.Replace(file, []byte("two")))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}

	require.NoError(t, os.Mkdir(filepath.Join(folder, "b"), 0o700))
	require.Error(t, wholefile.Replace(filepath.Join(folder, "b"), []byte("three")), "it is a folder")
	require.ErrorIs(t, wholefile.Replace(filepath.Join(folder, "none", "c"), nil), fs.ErrNotExist)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 2, "a.json and b")
}
