package bench_test

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// memoryGates are the most bytes and allocations that a step may take: a tenth more than was
// measured. Unlike times, they hardly vary from run to run, so a more expensive step is noticed
// here. Lower them when a step becomes cheaper; go test -run TestMemoryOfAStep -v prints the
// measured values. A run takes some 500 bytes and 8 allocations so that its replies can be watched
// for repetition and cut off, and a reply of Run over HTTP is streamed for it;
// and some 700 bytes and 12 allocations so that calls in the text of its replies can be read.
var memoryGates = map[string]struct{ bytes, allocs float64 }{
	"W1/raw":     {14000, 84.7},  // the one step pays for the run, its Machine and its frame, which no later run reuses
	"W2/raw":     {5490, 34.7},   // eleven steps pay for the same; a call has an execution and a goroutine of its own
	"W2/raw-run": {4760, 28.3},   // as above
	"W2/typed":   {5510, 35.8},   // as above
	"W3/raw":     {3780, 29.9},   // the execution and the goroutine of a call
	"W4/raw":     {3610, 30.7},   // as above
	"W9/raw":     {3660, 30.8},   // as above
	"W5/raw":     {15400, 108},   // five of them
	"W5/typed":   {15490, 113.5}, // as above
	"W6/raw":     {3160, 25.6},   // as W2
	"W7/raw":     {5560, 35},     // as W2
	"W8/raw":     {47.8, 0.065},  // pieces of one reply, which pay for the run

	"W8/two-frames": {50.3, 0.086}, // as above

	"H2/raw-run": {27800, 261}, // as W2
	"H8/raw":     {77, 0.187},  // as W8
}

// TestMemoryOfAStep measures each row and compares it with its gate.
func TestMemoryOfAStep(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too: run this test without -race")
	}
	gated := map[string]bool{}
	for _, w := range workloads {
		for _, r := range w.rows(t) {
			name := w.name + "/" + r.name
			gate, ok := memoryGates[name]
			if !ok {
				continue // the loops, and rows that differ little from one with a gate
			}
			gated[name] = true
			bytes, allocs := memory(t, r)
			t.Logf("%q: {%.4g, %.3g},", name, bytes, allocs)
			require.LessOrEqual(t, bytes, gate.bytes, "bytes per step of %s", name)
			require.LessOrEqual(t, allocs, gate.allocs, "allocations per step of %s", name)
		}
	}
	require.Len(t, gated, len(memoryGates), "each gate has its row")
	http.DefaultClient.CloseIdleConnections()
}

// memory measures the bytes and allocations of a step, with nothing else running.
func memory(tb testing.TB, r row) (bytes, allocs float64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	run := func() {
		if _, err := r.run(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	run()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	n := min(max(10, 2000/r.steps), max(1, 50_000/r.steps))
	before := takeReading()
	for range n {
		run()
	}
	used := takeReading().since(before)
	steps := float64(n * r.steps)
	return float64(used.bytes) / steps, float64(used.allocs) / steps
}
