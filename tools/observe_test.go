package tools_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestObservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Bool
		set := setOf(t, rawTool("slow", func(ctx context.Context, _ string) (string, error) {
			running.Store(true)
			tools.Progress(ctx, "half")
			time.Sleep(2 * time.Second)
			tools.Progress(ctx, "al\xffmost"+strings.Repeat(" ", 5000))
			return "slow", nil
		}), sleeper("quick", time.Second))
		batch := batchFor(set, "slow", "quick", "nope")
		var seen []string
		batch.Observe = func(o tools.Observation) {
			require.Equal(t, batch.Calls[o.Index], *o.Call)
			if o.Kind == tools.Started && o.Index == 0 {
				require.False(t, running.Load(), "it starts after it is told")
			}
			switch o.Kind {
			case tools.Started:
				seen = append(seen, fmt.Sprintf("%d started", o.Index))
			case tools.Progressed:
				require.LessOrEqual(t, len(o.Text), 4110)
				seen = append(seen, fmt.Sprintf("%d says %s", o.Index, strings.TrimRight(o.Text, " …")))
			case tools.Finished:
				require.Equal(t, o.Call.ID, o.Output.CallID)
				seen = append(seen, fmt.Sprintf("%d finished", o.Index))
			}
		}
		tools.Runner{}.Run(t.Context(), batch)
		require.Equal(t, []string{"0 started", "1 started", "2 finished", "0 says half", "1 finished", "0 says al\uFFFDmost", "0 finished"}, seen)
	})
}

func TestProgressOutsideARunner(t *testing.T) {
	tools.Progress(t.Context(), "nobody listens")
	set := setOf(t, rawTool("x", func(ctx context.Context, _ string) (string, error) {
		tools.Progress(ctx, "nobody listens")
		return "", nil
	}))
	require.True(t, tools.Runner{}.Run(t.Context(), batchFor(set, "x"))[0].OK())
}

// A tool that never stops talking neither waits nor fills the memory.
func TestProgressIsBounded(t *testing.T) {
	set := setOf(t, rawTool("x", func(ctx context.Context, _ string) (string, error) {
		for i := range 100_000 {
			tools.Progress(ctx, fmt.Sprint(i))
		}
		return "", nil
	}))
	batch := batchFor(set, "x")
	n := 0
	batch.Observe = func(o tools.Observation) {
		if o.Kind == tools.Progressed {
			n++
			time.Sleep(time.Millisecond)
		}
	}
	tools.Runner{}.Run(t.Context(), batch)
	require.Positive(t, n)
	require.Less(t, n, 1000)
}

func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		go func() {
			for range 3 {
				time.Sleep(time.Second)
				wake <- struct{}{}
			}
			close(wake)
		}()
		var woken []time.Duration
		began := time.Now()
		batch := batchFor(setOf(t, sleeper("x", 10*time.Second)), "x")
		batch.Wake = wake
		batch.OnWake = func() { woken = append(woken, time.Since(began)) }
		outs := tools.Runner{}.Run(t.Context(), batch)
		require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, woken)
		require.Equal(t, 10*time.Second, outs[0].Elapsed)

		batch.OnWake = nil
		require.True(t, tools.Runner{}.Run(t.Context(), batch)[0].OK())
	})
}

// Every call has one result, in its place, and one Finished, after its Started if it had one;
// nothing follows.
func TestBatchLaws(t *testing.T) {
	set := setOf(t,
		rawTool("raw", noop), pureRaw{rawTool("pure", noop)}, sleeper("short", time.Microsecond),
		tools.NewRaw(tools.Definition{Name: "alone", Sequential: true}, noop),
		rawTool("panics", func(context.Context, string) (string, error) { panic("x") }),
		rawTool("talks", func(ctx context.Context, _ string) (string, error) { tools.Progress(ctx, "x"); return "", nil }),
	)
	session := tools.Runner{Parallel: 3}.NewSession()
	defer session.Close()
	names := rapid.SampledFrom(append(set.Names(), "nope"))
	rapid.Check(t, func(t *rapid.T) {
		batch := batchFor(set, rapid.SliceOfN(names, 0, 12).Draw(t, "calls")...)
		state := map[int]tools.ObservationKind{}
		batch.Observe = func(o tools.Observation) {
			require.NotEqual(t, tools.Finished, state[o.Index])
			if o.Kind != tools.Progressed {
				require.Less(t, state[o.Index], o.Kind)
				state[o.Index] = o.Kind
			}
		}
		outs := session.Run(context.Background(), batch)
		require.Len(t, outs, len(batch.Calls))
		for i, o := range outs {
			require.Equal(t, batch.Calls[i].ID, o.CallID)
			require.Equal(t, batch.Calls[i].Name, o.ToolName)
			require.Equal(t, tools.Finished, state[i])
			require.Equal(t, o.Status == messages.StatusOK, o.Reason == "")
		}
	})
}

func TestSessionKeepsOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := setOf(t, rawTool("raw", noop), sleeper("slow", time.Second))
		session := tools.Runner{}.NewSession()
		for range 3 {
			session.Run(t.Context(), batchFor(set, "raw", "slow", "slow", "raw"))
		}
		session.Close()
		session.Close()
		require.True(t, session.Run(t.Context(), batchFor(set, "raw"))[0].OK(), "a closed session begins anew")
		session.Close()
	}) // the bubble ends only when every goroutine has
}

func TestObserverThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := setOf(t, sleeper("slow", time.Minute), rawTool("raw", noop))
		session := tools.Runner{}.NewSession()
		defer session.Close()
		for _, when := range []tools.ObservationKind{tools.Started, tools.Finished} {
			batch := batchFor(set, "slow", "raw", "slow")
			batch.Observe = func(o tools.Observation) {
				if o.Kind == when && o.Index == 1 {
					panic("mine")
				}
			}
			require.PanicsWithValue(t, "mine", func() { session.Run(t.Context(), batch) })
			require.Equal(t, []string{"3", "3"}, outputsOf(session.Run(t.Context(), batchFor(set, "raw", "raw"))))
		}
		time.Sleep(time.Hour) // the slow ones end
	})
}

// A call does not wait for an observer that takes long over the next.
func TestCallsStartWhileOthersAreTold(t *testing.T) {
	begun := make(chan struct{})
	set := setOf(t, rawTool("first", func(context.Context, string) (string, error) { close(begun); return "", nil }), rawTool("raw", noop))
	batch := batchFor(set, "first", "raw", "raw")
	batch.Observe = func(o tools.Observation) {
		switch {
		case o.Kind != tools.Started:
		case o.Index == 1:
			time.Sleep(time.Millisecond)
		case o.Index == 2:
			<-begun
		}
	}
	for _, o := range (tools.Runner{}).Run(t.Context(), batch) {
		require.True(t, o.OK())
	}
}

// A session between batches, whose run asks a model meanwhile, soon holds no goroutine.
func TestIdleWorkerEnds(t *testing.T) {
	s := tools.Runner{}.NewSession()
	defer s.Close()
	set := setOf(t, rawTool("x", func(context.Context, string) (string, error) { return "done", nil }))
	before := runtime.NumGoroutine()
	for range 3 {
		require.Equal(t, "done", s.Run(t.Context(), batchFor(set, "x"))[0].Output)
		for end := time.Now().Add(time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			require.True(t, time.Now().Before(end), "the worker is still there")
		}
	}
}
