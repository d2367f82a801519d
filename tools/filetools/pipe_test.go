//go:build unix

package filetools_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/segue-go/segue/tools/filetools"
	"github.com/stretchr/testify/require"
)

func TestReadFileOnlyReadsFiles(t *testing.T) {
	b := newBox(t, filetools.Config{}, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600))
	b.refused(`"pipe" is not a regular file`, "read_file", map[string]any{"path": "pipe"})
	b.want("[nothing found]", "search_files", map[string]any{"pattern": "x"})
	b.want("pipe (not a file)\n", "list_files", nil)
}

// Opening a pipe blocks until the pipe has a writer. No tool opens a pipe, wherever it is.
func TestListFilesOnlyListsFolders(t *testing.T) {
	b := newBox(t, filetools.Config{}, map[string]string{"d/a": "x"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o600))
	require.NoError(t, os.Symlink("pipe", filepath.Join(b.dir, "link")))
	for _, path := range []string{"pipe", "link", "./d/../pipe"} {
		b.refused("is not a folder", "list_files", map[string]any{"path": path})
		b.refused("is not a folder", "list_files", map[string]any{"path": path, "glob": "*"})
		b.refused("is not a regular file", "read_file", map[string]any{"path": path})
		b.want("[nothing found]", "search_files", map[string]any{"path": path, "pattern": "x"})
	}
}
