//go:build unix

package toolrun_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// The same small task, by the tool itself and through a Runner: add two numbers given in JSON.

func benchSet(b *testing.B) *tools.Set {
	b.Helper()
	set, err := tools.NewSet(
		tools.NewRaw(tools.Definition{Name: "raw"}, add),
		tools.NewRaw(tools.Definition{Name: "noop"}, noop),
		tools.New(tools.Definition{Name: "typed"}, func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }),
	)
	if err != nil {
		b.Fatal(err)
	}
	return set
}

func benchmarkRun(b *testing.B, name string) {
	tool, _ := benchSet(b).Lookup(name)
	job := toolrun.Job{Call: messages.ToolCall{ID: "c0", Name: name, Arguments: `{"a":1,"b":2}`}, Tool: tool}
	ctx := b.Context()
	measure(b, func() {
		if out := (toolrun.Runner{}).Run(ctx, job); out.Output != "3" {
			b.Fatal(out)
		}
	})
}

// measure reports the CPU time of the whole process in addition to the elapsed time.
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

func BenchmarkRunNoop(b *testing.B)  { benchmarkRun(b, "noop") }
func BenchmarkRunRaw(b *testing.B)   { benchmarkRun(b, "raw") }
func BenchmarkRunTyped(b *testing.B) { benchmarkRun(b, "typed") }

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
