package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signal while servers are connected to is told once, and gives the exit code.
func TestFirstOf(t *testing.T) {
	signaled := &exitError{code: exitInterrupted, err: errors.New("interrupted")}
	require.EqualError(t, firstOf([]error{signaled, nil, signaled}), "interrupted")
	require.Equal(t, exitInterrupted, exitCode(firstOf([]error{signaled, signaled})))
	require.EqualError(t, firstOf([]error{errors.New("a"), nil, errors.New("b")}), "a (and 1 more error)")
	require.NoError(t, firstOf([]error{nil}))
}
