//go:build unix

package tools_test

import (
	"context"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// The same trivial work, by hand and through a Runner: add two numbers that stand in JSON.

func benchSet(b *testing.B) *tools.Set {
	b.Helper()
	set, err := tools.NewSet(
		tools.NewRaw(tools.Definition{Name: "raw"}, add),
		tools.NewRaw(tools.Definition{Name: "noop"}, noop),
		pureRaw{tools.NewRaw(tools.Definition{Name: "pure_noop"}, noop)},
		tools.New(tools.Definition{Name: "typed"}, func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }),
		tools.NewPure(tools.Definition{Name: "pure"}, func(in sum) (int, error) { return in.A + in.B, nil }),
	)
	if err != nil {
		b.Fatal(err)
	}
	return set
}

func batchOf(set *tools.Set, name string, n int) tools.Batch {
	calls := make([]messages.ToolCall, n)
	for i := range calls {
		calls[i] = messages.ToolCall{ID: "c" + strconv.Itoa(i), Name: name, Arguments: `{"a":1,"b":2}`}
	}
	return tools.Batch{Calls: calls, Lookup: set.Lookup}
}

func benchmarkRun(b *testing.B, name string, n int) {
	batch := batchOf(benchSet(b), name, n)
	ctx := b.Context()
	r := tools.Runner{}.NewSession()
	defer r.Close()
	measure(b, func() {
		for _, out := range r.Run(ctx, batch) {
			if out.Output != "3" {
				b.Fatal(out)
			}
		}
	})
}

// measure reports the CPU time of the whole process beside the time on the clock: a call that wakes
// another processor costs there, too.
func measure(b *testing.B, do func()) {
	b.ReportAllocs()
	before, n := cpuTime(b), 0
	for b.Loop() {
		do()
		n++
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(n), "cpu-ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkRunNoop1(b *testing.B)     { benchmarkRun(b, "noop", 1) }
func BenchmarkRunPureNoop1(b *testing.B) { benchmarkRun(b, "pure_noop", 1) }
func BenchmarkRunRaw1(b *testing.B)      { benchmarkRun(b, "raw", 1) }
func BenchmarkRunTyped1(b *testing.B)    { benchmarkRun(b, "typed", 1) }
func BenchmarkRunPure1(b *testing.B)     { benchmarkRun(b, "pure", 1) }
func BenchmarkRunNoop5(b *testing.B)     { benchmarkRun(b, "noop", 5) }
func BenchmarkRunRaw5(b *testing.B)      { benchmarkRun(b, "raw", 5) }
func BenchmarkRunTyped5(b *testing.B)    { benchmarkRun(b, "typed", 5) }

func benchmarkFloor(b *testing.B, fn func(context.Context, string) (string, error), n int) {
	batch := batchOf(nil, "raw", n)
	ctx := b.Context()
	measure(b, func() {
		outputs := make([]messages.ToolOutput, n)
		var wg sync.WaitGroup
		for i, call := range batch.Calls {
			wg.Go(func() {
				text, err := fn(ctx, call.Arguments)
				if err != nil {
					text = err.Error()
				}
				outputs[i] = messages.ToolOutput{CallID: call.ID, ToolName: call.Name, Output: text}
			})
		}
		wg.Wait()
		if outputs[n-1].Output != "3" {
			b.Fatal(outputs)
		}
	})
}

func BenchmarkFloorNoop1(b *testing.B) { benchmarkFloor(b, noop, 1) }
func BenchmarkFloorRaw1(b *testing.B)  { benchmarkFloor(b, add, 1) }
func BenchmarkFloorNoop5(b *testing.B) { benchmarkFloor(b, noop, 5) }
func BenchmarkFloorRaw5(b *testing.B)  { benchmarkFloor(b, add, 5) }

func BenchmarkTool(b *testing.B) {
	set := benchSet(b)
	for _, name := range []string{"raw", "typed"} {
		tool, _ := set.Lookup(name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if text, err := tool.Call(b.Context(), `{"a":1,"b":2}`); text != "3" || err != nil {
					b.Fatal(text, err)
				}
			}
		})
	}
}

func BenchmarkNewSet(b *testing.B) {
	tool := tools.New(tools.Definition{Name: "typed"}, func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil })
	for b.Loop() {
		if _, err := tools.NewSet(tool); err != nil {
			b.Fatal(err)
		}
	}
}
