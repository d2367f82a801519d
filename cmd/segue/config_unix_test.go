//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/segue-go/segue/cmd/segue/internal/locate"
)

// What blocks or never ends is refused before a byte of it is read.
func TestConfigRead_refusesDevices(t *testing.T) {
	for _, device := range []string{"/dev/zero", "/dev/null", "/dev/tty"} {
		if _, err := os.Stat(device); err != nil {
			continue
		}
		link := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.Symlink(device, link))
		if f, err := os.Open(device); err == nil { // there may be no terminal
			require.NoError(t, f.Close())
			wantRefused(t, link, locate.FileName+": it is not a regular file")
		}
	}
	pipe := filepath.Join(t.TempDir(), "x")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	wantRefused(t, pipe, locate.FileName+": it is not a regular file")
}
