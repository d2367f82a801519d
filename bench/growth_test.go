package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/segue-go/segue/llmclient"
)

// BenchmarkGrowth compares the cost of a step early in a run and late in a long one, within one
// benchmark:
//
//   - early-cpu-ns/step is the cost of the rounds 70 to 140, over twenty runs;
//   - late-cpu-ns/step is the cost of the rounds 8,000 to 10,000 of one run.
//
// In each of these windows a slice of the length of the history grows once, as append grows it: a
// short slice to double its size, a long one by a quarter. The collector's work counts where it
// happens. More memory is live late in a run, so a step costs a little more there, for the loop
// too.
func BenchmarkGrowth(b *testing.B) {
	b.Run("loop", func(b *testing.B) { growth(b, loopWatched) })
	b.Run("raw", func(b *testing.B) { growth(b, libraryWatched) })
}

const shortRuns = 20

func growth(b *testing.B, watched func(*script, *stopwatch) func(context.Context) (outcome, error)) {
	early, late := &stopwatch{from: 70, to: 140}, &stopwatch{from: 8_000, to: 10_000}
	short, long := adding(goal, early.to, 1), adding(goal, late.to, 1)
	runShort, runLong := watched(short, early), watched(long, late)
	check := func(s *script, run func(context.Context) (outcome, error)) {
		o, err := run(b.Context())
		if err == nil {
			err = s.check(o)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for range shortRuns {
			check(short, runShort)
		}
		check(long, runLong)
	}
	b.ReportMetric(early.perStep(), "early-cpu-ns/step")
	b.ReportMetric(late.perStep(), "late-cpu-ns/step")
}

// stopwatch sums the CPU time between two replies of a script.
type stopwatch struct {
	from, to int // numbers of replies
	started  time.Duration
	total    time.Duration
	laps     int
}

func (w *stopwatch) perStep() float64 { return float64(w.total) / float64(w.laps*(w.to-w.from)) }

func (w *stopwatch) pass(reply int) {
	switch reply {
	case w.from:
		w.started = cpuTime()
	case w.to:
		w.total += cpuTime() - w.started
		w.laps++
	}
}

func loopWatched(s *script, w *stopwatch) func(context.Context) (outcome, error) {
	play := s.model()
	byHand := new(adder).loop(func(ctx context.Context, history []message, d func(string)) (message, error) {
		if i, err := s.next(len(history)); err == nil {
			w.pass(i)
		}
		return play(ctx, history, d)
	})
	return func(ctx context.Context) (outcome, error) { return looped(byHand.run(ctx, s.goal)) }
}

func libraryWatched(s *script, w *stopwatch) func(context.Context) (outcome, error) {
	play := s.client()
	o := library(llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		if i, err := s.next(len(req.Messages)); err == nil {
			w.pass(i)
		}
		return play(ctx, req, d)
	}), new(adder).raw())
	return func(ctx context.Context) (outcome, error) { return stream(ctx, o, "work", s.goal) }
}
