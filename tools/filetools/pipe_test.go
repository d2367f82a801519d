//go:build unix

package filetools_test

import (
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
