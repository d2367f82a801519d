package bench_test

import (
	"runtime"
	"testing"
	"time"
)

func BenchmarkW1(b *testing.B) { benchmark(b, "W1") }
func BenchmarkW2(b *testing.B) { benchmark(b, "W2") }
func BenchmarkW3(b *testing.B) { benchmark(b, "W3") }
func BenchmarkW4(b *testing.B) { benchmark(b, "W4") }
func BenchmarkW5(b *testing.B) { benchmark(b, "W5") }
func BenchmarkW6(b *testing.B) { benchmark(b, "W6") }
func BenchmarkW7(b *testing.B) { benchmark(b, "W7") }
func BenchmarkW8(b *testing.B) { benchmark(b, "W8") }
func BenchmarkW9(b *testing.B) { benchmark(b, "W9") }
func BenchmarkH2(b *testing.B) { benchmark(b, "H2") }
func BenchmarkH8(b *testing.B) { benchmark(b, "H8") }

func benchmark(b *testing.B, name string) {
	for _, r := range find(b, name) {
		b.Run(r.name, func(b *testing.B) { measure(b, r) })
	}
}

// measure reports the cost of a step: wall time, CPU time of the whole process (including collector
// and server), bytes and allocations. The first run is a warm-up and is fully verified; each
// measured run is checked.
func measure(b *testing.B, r row) {
	ctx := b.Context()
	o, err := r.run(ctx)
	if err == nil {
		err = r.script.prove(o)
	}
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	ran := r.adder.ran.Load()
	n := 0
	before := takeReading()
	for b.Loop() {
		o, err := r.run(ctx)
		if err == nil {
			err = r.script.check(o)
		}
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	used := takeReading().since(before)
	if got, want := r.adder.ran.Load()-ran, int64(n*r.calls); got != want {
		b.Fatalf("add ran %d times, not %d", got, want)
	}
	steps := float64(n * r.steps)
	b.ReportMetric(float64(b.Elapsed())/steps, "ns/step")
	b.ReportMetric(float64(used.cpu)/steps, "cpu-ns/step")
	b.ReportMetric(float64(used.bytes)/steps, "B/step")
	b.ReportMetric(float64(used.allocs)/steps, "allocs/step")
}

// reading is what the process has used.
type reading struct {
	cpu           time.Duration
	bytes, allocs uint64
}

func takeReading() reading {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reading{cpu: cpuTime(), bytes: m.TotalAlloc, allocs: m.Mallocs}
}

func (r reading) since(before reading) reading {
	return reading{cpu: r.cpu - before.cpu, bytes: r.bytes - before.bytes, allocs: r.allocs - before.allocs}
}
