package bench_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// journaled is an orchestrator with a store; nil: without one.
func journaled(client llmclient.Client, a *adder, store checkpoint.Store) *orchestrator.Orchestrator {
	o, err := orchestrator.New(orchestrator.Config{
		Client: client, Strategies: strategy.Set{"work": completetask.New(completetask.Config{MaxModelCalls: many})},
		Default: "work", Tools: []tools.Tool{a.typed()}, Limits: limits, Store: store,
	})
	if err != nil {
		panic(err)
	}
	return o
}

// BenchmarkJournal measures what a journal in memory adds to a step of W2: twenty rounds of a typed
// tool, by Run.
func BenchmarkJournal(b *testing.B) {
	s := adding(goal, 20, 1)
	for name, store := range map[string]func() checkpoint.Store{
		"without": func() checkpoint.Store { return nil },
		"memory":  func() checkpoint.Store { return new(checkpoint.Memory) },
	} {
		b.Run(name, func(b *testing.B) {
			began := cpuTime()
			runs := 0
			for b.Loop() {
				o := journaled(s.client(), new(adder), store())
				for range 100 {
					res, err := o.Run(b.Context(), orchestrator.Task{Input: delegation.Input{Goal: goal}})
					if err != nil || res.Status != machine.StatusDone {
						b.Fatal(err)
					}
				}
				runs += 100
			}
			b.ReportMetric(float64(cpuTime()-began)/float64(runs*41), "cpu-ns/step")
		})
	}
}

// BenchmarkJournalGrowth measures what a step with a journal in memory costs early in a run and
// late in a long one, as BenchmarkGrowth does without.
func BenchmarkJournalGrowth(b *testing.B) {
	growth(b, func(s *script, w *stopwatch) func(context.Context) (outcome, error) {
		play := s.client()
		client := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
			if i, err := s.next(len(req.Messages)); err == nil {
				w.pass(i)
			}
			return play(ctx, req, d)
		})
		return func(ctx context.Context) (outcome, error) {
			return stream(ctx, journaled(client, new(adder), new(checkpoint.Memory)), "work", s.goal)
		}
	})
}

// BenchmarkResume measures how long it takes to go on with a run of 10,000 steps, and the memory
// that it takes: the journal is read, and its records are applied.
func BenchmarkResume(b *testing.B) {
	const rounds = 5_000 // a request and a call each
	s := adding(goal, rounds, 1)
	store, key := new(checkpoint.Memory), checkpoint.Key{Run: "r"}
	play := s.client()
	broken := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		if i, err := s.next(len(req.Messages)); err == nil && i == rounds {
			return nil, context.Canceled
		}
		return play(ctx, req, d)
	})
	ctx, cancel := context.WithCancelCause(b.Context())
	cut := llmclient.ClientFunc(func(ctx context.Context, req *llmclient.Request, d func(llmclient.Delta)) (*llmclient.Response, error) {
		resp, err := broken(ctx, req, d)
		if err != nil {
			cancel(orchestrator.ErrInterrupted)
		}
		return resp, err
	})
	res, _ := journaled(cut, new(adder), store).Run(ctx, orchestrator.Task{Run: key.Run, Input: delegation.Input{Goal: goal}})
	if res.Status != machine.StatusInterrupted {
		b.Fatalf("the run is %s", res.Status)
	}
	var took time.Duration
	var bytes uint64
	n := 0
	for b.Loop() {
		b.StopTimer()
		kept := new(checkpoint.Memory)
		copyRun(b, kept, store, key)
		o := journaled(play, new(adder), kept)
		runtime.GC()
		before := allocated()
		b.StartTimer()
		began := cpuTime()
		for e, err := range o.Resume(b.Context(), orchestrator.Resumption{Run: key.Run}) {
			if err != nil {
				b.Fatal(err)
			}
			if e.Kind == machine.EventRunResumed {
				took += cpuTime() - began
				bytes += allocated() - before
				n++
				break
			}
		}
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(n), "cpu-ms/resume")
	b.ReportMetric(float64(bytes)/float64(n)/(1<<20), "MiB/resume")
}

// allocated returns how many bytes were allocated so far, let go of since or not.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func copyRun(b *testing.B, to, from *checkpoint.Memory, key checkpoint.Key) {
	b.Helper()
	var all []checkpoint.Record
	for rec, err := range from.Read(b.Context(), key, 1) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, rec)
	}
	head, err := from.Head(b.Context(), key)
	if err == nil {
		err = to.Append(b.Context(), checkpoint.Batch{Key: key, Records: all, Header: &head.Header})
	}
	if err != nil {
		b.Fatal(err)
	}
}
