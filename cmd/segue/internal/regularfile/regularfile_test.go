package regularfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for _, size := range []int{0, 1, 99, 100} {
		require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte{'x'}, size), 0o600))
		data, err := Read(file, 100)
		require.NoError(t, err)
		require.Len(t, data, size)
	}
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte{'x'}, 101), 0o600))
	_, err := Read(file, 100)
	require.ErrorContains(t, err, "it has more than 100 bytes")
	_, err = Read(file+"-none", 100)
	require.ErrorIs(t, err, os.ErrNotExist)
}
