//go:build unix

package main

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/cmd/cli"
	"github.com/segue-go/segue/internal/waittest"
)

// TestIdleTimeout asks a server that is silent: it is asked once, and the last line says what to
// do. The run keeps the idle timeout.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	model := newSlowModel(t)
	cmd, _, stderr := interruptible(t, "run", "--base-url", model.URL, "--model", "m", "--idle-timeout", "200ms", "task")
	waittest.Receive(t, model.asked)
	said, err := io.ReadAll(stderr)
	require.NoError(t, err)
	require.Equal(t, cli.ExitProvider, codeOf(t, waittest.Exit(t, cmd)), string(said))
	require.Contains(t, string(said), "segue: the server did not answer in time (model m): the server sent nothing for 200ms, the idle timeout; "+
		"raise it with --idle-timeout, such as --idle-timeout 10m, or with limits.idle_timeout of the model\n")
	require.Empty(t, model.asked, "it was asked once")

	k := newKeptRun(t)
	cmd, _, stderr = k.command("run", "--base-url", k.model.URL, "--idle-timeout", "1s", "task")
	waittest.Receive(t, k.model.asked)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	k.ends(cmd, stderr, cli.ExitInterrupted)
	cmd, _, stderr = k.command("resume")
	waittest.Receive(t, k.model.asked)
	require.Contains(t, k.ends(cmd, stderr, cli.ExitProvider), "the server sent nothing for 1s")
}
