package cputime_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/cputime"
)

// Both clocks go on while something is done.
func TestClocks(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, clock := range []func() time.Duration{cputime.Thread, cputime.Process} {
		from, sum := clock(), 0
		for i := range 10_000_000 {
			sum += i * i
		}
		require.Positive(t, clock()-from, "%d", sum)
	}
}
