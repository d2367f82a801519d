package growth_test

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/growth"
)

// Linear growth passes.
func TestAreLinear(t *testing.T) {
	costs := growth.Of(t)
	list := func(n int) []int {
		all := make([]int, n)
		for i := range all {
			all[i] = i * 7919 % n
		}
		return all
	}
	for name, work := range map[string]func(n int){
		"one look at each": func(n int) { _ = slices.Contains(list(n), -1) },
		"sorted":           func(n int) { slices.Sort(list(n)) },
	} {
		t.Run(name, func(t *testing.T) { costs.AreLinear(t, 1000, work) })
	}
}

// Quadratic growth is detected, in searches and in copies. The test runs itself, and expects a
// failure.
func TestAreLinear_square(t *testing.T) {
	if os.Getenv("SEGUE_GROWTH") == "" && os.Getenv("SEGUE_GROWTH_SQUARE") == "" {
		for name, says := range map[string]string{"looks": "more than 10 times the statements", "copies": "more than 24 times the bytes"} {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAreLinear_square$/^"+name+"$")
			cmd.Env = append(os.Environ(), "SEGUE_GROWTH_SQUARE=1")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), says)
		}
		return
	}
	costs := growth.Of(t)
	var kept []int
	t.Run("looks", func(t *testing.T) {
		costs.AreLinear(t, 100, func(n int) {
			list := make([]int, n)
			for range n {
				_ = slices.Contains(list, 1)
			}
		})
	})
	t.Run("copies", func(t *testing.T) {
		costs.AreLinear(t, 100, func(n int) {
			list := make([]int, n)
			for range n {
				kept = slices.Clone(list)
			}
		})
	})
	runtime.KeepAlive(kept)
}
