package bench_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/segue-go/segue/llmclient"
)

// BenchmarkPark measures runs that wait for their model at the sixth request, with eleven messages
// so far: heap and stacks, in kilobytes of 1,024 bytes per run, and goroutines per run.
func BenchmarkPark(b *testing.B) {
	b.Run("loop", func(b *testing.B) {
		park(b, func(s *script, wait func(messages int)) func(context.Context) (outcome, error) {
			play := s.model()
			byHand := new(adder).loop(func(ctx context.Context, history []message, d func(string)) (message, error) {
				wait(len(history))
				return play(ctx, history, d)
			})
			return func(ctx context.Context) (outcome, error) { return looped(byHand.run(ctx, s.goal)) }
		})
	})
	b.Run("raw", func(b *testing.B) {
		park(b, func(s *script, wait func(messages int)) func(context.Context) (outcome, error) {
			play := s.client()
			o := library(llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
				wait(len(req.Messages))
				return play(ctx, req, d)
			}), new(adder).raw())
			return func(ctx context.Context) (outcome, error) { return stream(ctx, o, "work", s.goal) }
		})
	})
}

const (
	parked   = 1000
	parkedAt = 11 // messages
)

func park(b *testing.B, waiting func(*script, func(messages int)) func(context.Context) (outcome, error)) {
	s := adding(goal, 10, 1)
	var arrived, finished sync.WaitGroup
	var release chan struct{}
	run := waiting(s, func(messages int) {
		if messages == parkedAt {
			arrived.Done()
			<-release
		}
	})
	var bytes, goroutines float64
	for b.Loop() {
		before, others := inUse(), runtime.NumGoroutine()
		release = make(chan struct{})
		arrived.Add(parked)
		for range parked {
			finished.Go(func() {
				o, err := run(b.Context())
				if err == nil {
					err = s.check(o)
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		arrived.Wait()
		bytes = float64(inUse()) - float64(before)
		goroutines = float64(runtime.NumGoroutine() - others)
		close(release)
		finished.Wait()
	}
	b.ReportMetric(bytes/parked/1024, "KB/run")
	b.ReportMetric(goroutines/parked, "goroutines/run")
}

// inUse returns the bytes in use on heap and stacks.
func inUse() uint64 {
	runtime.GC()
	runtime.GC() // the first collection may only find what the second frees
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
