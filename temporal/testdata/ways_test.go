package strategytest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/temporal"
)

// TestStories of the module temporal adds this file to the package strategytest, so that [Ways]
// makes each run on the server of TEMPORAL_ADDRESS, and in the loop. Its end, its large results
// and, if its effects come one after the other, its records and events are the same, times aside.
// Notes and stops are posted to it.
func init() { instead = onTemporal }

// served is a run whose model knows what it says.
type served struct {
	storyRun
	model *model
	known spot     // where it is stopped
	comes noteKeys // where its notes come
	lost  int      // how often a busy machine has lost an activity of it
}

func onTemporal(t *testing.T, dir string, set strategy.Set) {
	var all []served
	playAll(t, dir, set, func(t *testing.T, r *storyRun) {
		p := newProcess(t, r, false)
		p.play(r, newModel(r.script))
		_, _ = orchestrator.Collect(p.stream(nil))
		p.model.again = true
		all = append(all, served{*r, p.model, p.stops.found, p.said.found(), 0})
	})
	several := lives(t, dir, set)
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Logger: quiet{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for i, r := range all { // outside the bubbles, whose time stands still while a server is asked
		t.Run(fmt.Sprint("run", i), func(t *testing.T) {
			t.Parallel()
			r.serve(t, c)
		})
	}
	for i, l := range several {
		t.Run(fmt.Sprint("resumed", i), func(t *testing.T) {
			t.Parallel()
			l.serve(t, c)
		})
	}
}

// posting is what an Orchestrator and an Engine have in common.
type posting interface {
	Note(ctx context.Context, key checkpoint.Key, text string) error
	Stop(ctx context.Context, key checkpoint.Key, reason string, now bool) error
}

// process returns what makes the run. What is said to the run in a step is posted to it, and the
// step begins once the run has it; if nobody posts, nothing is said.
func (r *served) process(t *testing.T, s *store, post func(*orchestrator.Orchestrator) posting) (o *orchestrator.Orchestrator) {
	cfg, k, key := r.config, newKeys(nil), checkpoint.Key{Run: r.task.Run}
	said := func(ctx context.Context, typ string, n int, err error) {
		for ctx.Err() == nil && strings.Count(s.text(), `,"type":"`+typ+`",`) < n {
			assert.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
	}
	cfg.Client, cfg.Store, cfg.InboxEvery = r.model, s, 20*time.Millisecond
	cfg.Middleware = []orchestrator.Middleware{k.around, func(next orchestrator.Handler) orchestrator.Handler {
		return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
			if e.ID.Index > 1 || post == nil {
				return next(ctx, e)
			}
			for i, at := range r.comes {
				if at == keyOf(ctx) {
					said(ctx, "noted", i+1, post(o).Note(ctx, key, r.notes[i].text))
				}
			}
			if r.known.key == keyOf(ctx) {
				said(ctx, "stopped", 1, post(o).Stop(ctx, key, "", r.stop.now))
				if r.stop.now {
					<-ctx.Done() // the step is cut off
				}
			}
			return next(ctx, e)
		}
	}}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

// inTurn reports whether no effects of the run are in progress together.
func (r *served) inTurn(t *testing.T) bool {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // a reply that a stop cuts off takes for ever
	defer cancel()
	o := r.process(t, new(store), nil)
	s, err := o.Begin(ctx, r.task)
	for err == nil && len(s.Effects) > 0 {
		if len(s.Effects) > 1 {
			return false
		}
		s, err = o.Step(ctx, s.Key, s.Effects[0].ID, s.Epoch, nil)
	}
	return true
}

// serve makes the run in the loop and on the server.
func (r *served) serve(t *testing.T, c client.Client) {
	r.task.Run = fmt.Sprint(t.Name(), time.Now().UnixNano())
	inTurn := r.inTurn(t)
	if r.stop.where != "" && (!inTurn || r.known.agent != "") {
		t.Skip("it is a matter of time what is stopped")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	byLoop, byServer := new(store), new(store)
	loop := r.process(t, byLoop, func(o *orchestrator.Orchestrator) posting { return o })
	var told, followed, replayed []string
	res, err := orchestrator.Collect(tap(&told, loop.Stream(ctx, r.task)))
	require.NoError(t, ctx.Err())
	res.Run = r.task.Run // a run that cannot begin has none
	want := end(t, res, err, r.stop.now)

	e := &temporal.Engine{Client: c, Queue: r.task.Run}
	e.Orchestrator = r.process(t, byServer, func(*orchestrator.Orchestrator) posting { return e })
	w := worker.New(c, e.Queue, worker.Options{MaxHeartbeatThrottleInterval: time.Second})
	e.Register(w)
	require.NoError(t, w.Start())
	defer w.Stop()
	key, err := e.Start(ctx, r.task)
	var s orchestrator.Standing
	if err == nil { // it has begun
		s, err = await(ctx, e, key, &followed)
		for range tap(&replayed, e.Orchestrator.Replay(ctx, key)) { //nolint:revive // it is tapped
		}
		require.Equal(t, replayed[:min(len(replayed), len(followed))], followed)
	}
	lost := func(event string) bool { return strings.Contains(event, `"kind":"run_resumed"`) }
	if r.lost < 2 && slices.ContainsFunc(replayed, lost) && !slices.ContainsFunc(told, lost) {
		r.lost++
		t.Log("the server took an activity for lost: once more")
		r.serve(t, c)
		return
	}
	require.NoError(t, ctx.Err())
	s.Result.Run = r.task.Run
	require.Equal(t, want, end(t, s.Result, err, r.stop.now))
	if t.Logf("compared record by record: %t", inTurn); inTurn {
		require.Equal(t, told, replayed)
		require.Equal(t, timeless(byLoop.text()), timeless(byServer.text()))
	}
	kept, _ := byLoop.Values(ctx, key)
	have, _ := byServer.Values(ctx, key)
	require.Equal(t, kept, have)
}

// await waits until a run has ended, or waits, and follows it meanwhile.
func await(ctx context.Context, e *temporal.Engine, key checkpoint.Key, followed *[]string) (s orchestrator.Standing, err error) {
	following, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range tap(followed, e.Orchestrator.Follow(following, key, orchestrator.Position{})) { //nolint:revive // it is tapped
		}
	}()
	defer func() {
		stop()
		<-done
	}()
	for s, err = e.Orchestrator.Standing(ctx, key); err == nil && s.Status == ""; s, err = e.Orchestrator.Standing(ctx, key) {
		time.Sleep(20 * time.Millisecond)
	}
	if err == nil && s.Status == machine.StatusWaiting {
		return s, e.Client.TerminateWorkflow(ctx, key.Run, "", "nobody answers")
	}
	<-done
	s.Result, err = e.Result(ctx, key)
	return s, err
}

// tap adds the events to lines that records tell.
func tap(lines *[]string, events iter.Seq2[machine.Event, error]) iter.Seq2[machine.Event, error] {
	return func(yield func(machine.Event, error) bool) {
		for e, err := range events {
			if e.Index > 0 {
				text, _ := json.Marshal(e)
				*lines = append(*lines, timeless(string(text))...)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// timeless returns lines of JSON without times.
func timeless(text string) (lines []string) {
	for line := range strings.Lines(text) {
		var all any
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			panic(err)
		}
		drop(all, false)
		dropTimes(all)
		short, _ := json.Marshal(all)
		lines = append(lines, string(short))
	}
	return lines
}

func dropTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"at", "time", "digest"} {
			delete(v, name)
		}
		for _, inner := range v {
			dropTimes(inner)
		}
	case []any:
		for _, inner := range v {
			dropTimes(inner)
		}
	}
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
