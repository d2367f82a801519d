package terminal

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestForgetTyped forgets nothing of a file.
func TestForgetTyped(t *testing.T) {
	path := t.TempDir() + "/f"
	require.NoError(t, os.WriteFile(path, []byte("line\n"), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	k := NewKeyboard(f)
	k.DiscardTyped()
	line, err := k.ReadLine(t.Context())
	require.NoError(t, err)
	require.Equal(t, "line\n", line)
	_, err = k.ReadLine(t.Context())
	require.ErrorIs(t, err, io.EOF)
}
