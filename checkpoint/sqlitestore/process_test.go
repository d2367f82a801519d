package sqlitestore_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// again starts this program in a role.
func again(t *testing.T, as string, args ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, out
}

// must ends a program that was started for a test.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Getenv(role), os.Args[1:], err)
		os.Exit(1)
	}
}
