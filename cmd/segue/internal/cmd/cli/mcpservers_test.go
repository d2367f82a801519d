package cli

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signal while servers are connected to is told once, and gives the exit code.
func TestFirstOf(t *testing.T) {
	signaled := &ExitError{Code: ExitInterrupted, Err: errors.New("interrupted")}
	require.EqualError(t, FirstOf([]error{signaled, nil, signaled}), "interrupted")
	require.Equal(t, ExitInterrupted, ExitCode(FirstOf([]error{signaled, signaled})))
	require.EqualError(t, FirstOf([]error{errors.New("a"), nil, errors.New("b")}), "a (and 1 more error)")
	require.NoError(t, FirstOf([]error{nil}))
}
