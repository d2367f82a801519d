//go:build unix

package filetools

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOpenKind replaces a file by a pipe between the check and the opening, as another process
// could do. The opening neither blocks nor returns the pipe.
func TestOpenKind(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	f := &folder{root: root}
	_, _, err = f.openKind("pipe", regularFile)
	require.ErrorContains(t, err, "is not a regular file")
	_, _, err = f.openKind(".", regularFile)
	require.ErrorContains(t, err, "is a folder")
	for _, name := range []string{"pipe", "a"} {
		_, _, err = f.openKind(name, aFolder)
		require.ErrorContains(t, err, "is not a folder")
		_, err = walked{f}.ReadDir(name)
		require.ErrorContains(t, err, "is not a folder")
	}
}
