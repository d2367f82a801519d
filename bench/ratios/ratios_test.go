package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func parsed(t *testing.T, text string) *results {
	t.Helper()
	r, err := read(nil, strings.NewReader(text))
	require.NoError(t, err)
	return r
}

const twoRows = `goos: linux
BenchmarkW2/loop-2    	 37485	 16226 ns/op	 690.9 B/step	 6.000 allocs/step	 100 cpu-ns/step	 140 ns/step
BenchmarkW2/loop-2    	 37485	 16226 ns/op	 690.9 B/step	 6.000 allocs/step	 300 cpu-ns/step	 160 ns/step
BenchmarkW2/loop-fsm-2	 37485	 16226 ns/op	 690.9 B/step	 6.000 allocs/step	 200 cpu-ns/step	 150 ns/step
BenchmarkW2/raw       	 37485	 16226 ns/op	 690.9 B/step	 6.000 allocs/step	 500 cpu-ns/step	 150 ns/step
PASS
`

func TestMedian(t *testing.T) {
	r := parsed(t, twoRows)
	require.Equal(t, []string{"W2/loop", "W2/loop-fsm", "W2/raw"}, r.rows, "the number of processors is no part of the name")
	even, ok := r.median("W2/loop", "cpu-ns/step")
	require.True(t, ok)
	require.InDelta(t, 200, even, 0)
	r.add("W2/loop", "cpu-ns/step", 1)
	odd, _ := r.median("W2/loop", "cpu-ns/step")
	require.InDelta(t, 100, odd, 0)
	_, ok = r.median("W2/loop", "none")
	require.False(t, ok)
}

func TestGates(t *testing.T) {
	ratio := gate{row: "W2/raw", metric: "cpu-ns/step", base: "W2/loop"}
	within := gate{row: "W2/raw", metric: "cpu-ns/step", base: "W2/raw", baseMetric: "ns/step"}
	number := gate{row: "W2/raw", metric: "ns/step"}
	for name, c := range map[string]struct {
		gate   gate
		most   float64
		broken int
		says   string
	}{
		"ratio kept":       {ratio, 2.5, 0, "W2/raw / W2/loop cpu-ns/step | 2.50 | 2.50 | kept"},
		"ratio broken":     {ratio, 2.4, 1, "should be kept: the reason."},
		"two metrics kept": {within, 3.4, 0, "W2/raw cpu-ns/step / ns/step | 3.33 | 3.40 | kept"},
		"number kept":      {number, 150, 0, "W2/raw ns/step | 150.00 | 150.00 | kept"},
		"number broken":    {number, 149, 1, "BROKEN"},
		"not run":          {gate{row: "W9/raw", metric: "ns/step"}, 1, 0, "not run"},
		"row is missing":   {gate{row: "W2/typed", metric: "ns/step"}, 1, 1, "not measured"},
		"base is missing":  {gate{row: "W2/raw", metric: "ns/step", base: "W2/x"}, 1, 1, "not measured"},
	} {
		t.Run(name, func(t *testing.T) {
			c.gate.most, c.gate.why = c.most, "the reason"
			text, broken := report([]gate{c.gate}, parsed(t, twoRows))
			require.Equal(t, c.broken, broken)
			require.Contains(t, strings.Join(strings.Fields(text), " "), c.says)
		})
	}
}

func TestRun(t *testing.T) {
	fast := strings.NewReplacer("500 cpu-ns/step", "220 cpu-ns/step", "W2/raw   ", "W2/typed-run").Replace(twoRows) +
		"BenchmarkW2/typed-2 10 1 ns/op 900 cpu-ns/step 1 ns/step\n"
	for name, c := range map[string]struct{ in, err string }{
		"kept":            {fast, ""},
		"broken":          {strings.ReplaceAll(fast, "220 cpu", "5020 cpu"), "1 gates are broken"},
		"a failed run":    {fast + "--- FAIL: BenchmarkW3\nFAIL\n", "reports a failure"},
		"panic in a test": {fast + "panic: no\n", "reports a failure"},
		"without a unit":  {fast + "BenchmarkW2/other-2 10\n", ""},
		"nothing in it":   {"PASS\n", "holds no benchmarks"},
		"not a number":    {"BenchmarkW2/raw 1 x ns/op\n", "not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bench.out")
			require.NoError(t, os.WriteFile(file, []byte(c.in), 0o600))
			text, err := run([]string{file}, nil)
			if c.err == "" {
				require.NoError(t, err, text)
				return
			}
			require.ErrorContains(t, err, c.err)
			require.Equal(t, text != "", errors.Is(err, errBroken), "what could be read is printed")
		})
	}
	_, err := run([]string{"/nowhere/bench.out"}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTable(t *testing.T) {
	text := parsed(t, twoRows+"BenchmarkPark/raw-2 1 2 ns/op 11.25 KB/run\n"+
		"BenchmarkSQLiteStep/runs=1-2 1 0 ns/op 300 ns/step 1.25 ratio\n").String()
	require.Contains(t, text, "| row         | ns/step | cpu-ns/step | B/step |")
	require.Contains(t, text, "|-------------|---------|-------------|--------|")
	require.Contains(t, text, "| W2/raw      | 150     | 500         | 691    | 6           | 2.50        | -                |\n")
	require.Contains(t, text, "- Park/raw: 11.2 KB/run\n")
	require.Contains(t, text, "- SQLiteStep/runs=1: 1.25 ratio, 300 ns/step\n")
}
