package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// race is a run whose tool ends in one of many ways at about the time at which something else ends
// the call, or the run.
type race struct {
	tool    string        // how the tool ends
	takes   time.Duration // what the tool does before
	meets   string        // what happens meanwhile
	after   time.Duration // when that happens
	follows int           // how many calls of a quick tool come after the first
	nested  bool          // the run is one of a tool of another run
	wrapped bool          // the tool is performed by a goroutine of its own

	stop   chan struct{}
	cancel context.CancelCauseFunc
	closes sync.Once
	late   chan struct{} // closed when the run is over
}

var (
	raceEnds  = []string{"returns", "fails", "panics", "exits", "asks", "asks outliving", "emits", "hangs", "leaves one behind"}
	raceMeets = []string{"nothing", "time-out", "stop", "cancel", "run's time-out", "stop and cancel"}
)

// around is a duration of about a millisecond.
func around(rng *rand.Rand) time.Duration {
	switch rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return time.Duration(rng.IntN(300)) * time.Microsecond
	default:
		return 700*time.Microsecond + time.Duration(rng.IntN(1800))*time.Microsecond
	}
}

func newRace(seed uint64) *race {
	rng := rand.New(rand.NewPCG(seed, 1))
	return &race{
		tool: raceEnds[rng.IntN(len(raceEnds))], takes: around(rng),
		meets: raceMeets[rng.IntN(len(raceMeets))], after: around(rng),
		follows: rng.IntN(3), nested: rng.IntN(8) == 0, wrapped: rng.IntN(8) == 0,
		stop: make(chan struct{}), late: make(chan struct{}),
	}
}

func (r *race) String() string {
	return fmt.Sprintf("the tool %s after %v, %s after %v, %d calls follow, nested %v, wrapped %v", r.tool, r.takes, r.meets, r.after, r.follows, r.nested, r.wrapped)
}

// call is the tool.
func (r *race) call(ctx context.Context, _ string) (string, error) {
	r.meet()
	time.Sleep(r.takes)
	switch r.tool {
	case "fails":
		return "", errors.New("no")
	case "panics":
		panic("oops")
	case "exits":
		runtime.Goexit()
	case "asks":
		return tools.Ask(ctx, tools.Question{Text: "which?"})
	case "asks outliving":
		return tools.Ask(context.WithoutCancel(ctx), tools.Question{Text: "which?"})
	case "emits":
		orchestrator.Emit(ctx, machine.Event{Kind: "mine"})
	case "hangs":
		<-r.late
		orchestrator.Emit(ctx, machine.Event{Kind: "mine"})
		tools.Progress(ctx, "late")
		_, err := tools.Ask(ctx, tools.Question{Text: "late?"})
		return "late", err
	case "leaves one behind":
		go func() {
			orchestrator.Emit(ctx, machine.Event{Kind: "mine"})
			_, _ = tools.Ask(context.WithoutCancel(ctx), tools.Question{Text: "behind?"})
			<-r.late
			orchestrator.Emit(ctx, machine.Event{Kind: "mine"})
		}()
	}
	return "ok", nil
}

// meet has happen what happens while the tool is called.
func (r *race) meet() {
	stop := func() { r.closes.Do(func() { close(r.stop) }) }
	switch r.meets {
	case "stop":
		time.AfterFunc(r.after, stop)
	case "cancel":
		time.AfterFunc(r.after, func() { r.cancel(errors.New("enough")) })
	case "stop and cancel":
		time.AfterFunc(r.after, stop)
		time.AfterFunc(r.after, func() { r.cancel(errors.New("enough")) })
	}
}

// orchestrator is one for the run, with a script of its own.
func (r *race) orchestrator(t require.TestingT) *orchestrator.Orchestrator {
	replies := []scripted.Reply{scripted.Calls(scripted.Call("race", "{}", "1"))}
	for i := range r.follows {
		replies = append(replies, scripted.Calls(scripted.Call("quick", "{}", fmt.Sprint(i+2))))
	}
	cfg := orchestrator.Config{
		Client:     scripted.New(append(replies, scripted.Text("done"))...),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})},
		Tools: []tools.Tool{
			tools.NewRaw(tools.Definition{Name: "race", Timeout: r.toolTimeout()}, r.call),
			tools.NewRaw(tools.Definition{Name: "quick"}, func(context.Context, string) (string, error) { return "quick", nil }),
		},
		Reply: func(_ context.Context, w machine.Wait) (machine.Reply, error) {
			return machine.Reply{WaitID: w.ID, Text: "this"}, nil
		},
		Store: new(checkpoint.Memory),
	}
	if r.meets == "run's time-out" {
		cfg.Timeouts.Run = r.after + 100*time.Microsecond
	}
	if r.wrapped {
		handles(passing)(&cfg)
	}
	o, err := orchestrator.New(cfg)
	require.NoError(t, err)
	return o
}

func (r *race) toolTimeout() time.Duration {
	if r.meets == "time-out" || r.tool == "hangs" && (r.meets == "nothing" || r.meets == "stop") {
		return r.after + 100*time.Microsecond
	}
	return -1
}

// run makes the run, and returns how it ended.
func (r *race) run(t require.TestingT) (orchestrator.Result, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	r.cancel = cancel
	o := r.orchestrator(t)
	ta := task("go")
	ta.Stop = r.stop
	if !r.nested {
		return o.Run(ctx, ta)
	}
	type outcome struct {
		res orchestrator.Result
		err error
	}
	made := make(chan outcome, 1)
	inner := tools.NewRaw(tools.Definition{Name: "inner", Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
		res, err := o.Run(ctx, ta)
		made <- outcome{res, err}
		return "", err
	})
	outer, err := orchestrator.New(orchestrator.Config{
		Client:     scripted.New(scripted.Calls(scripted.Call("inner", "{}", "1")), scripted.Text("done")),
		Strategies: strategy.Set{"solve": completetask.New(completetask.Config{})}, Tools: []tools.Tool{inner},
	})
	require.NoError(t, err)
	if _, err = outer.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: "go"}}); err != nil && context.Cause(ctx) == nil {
		t.Errorf("%s: %v", r, err)
	}
	inside := <-made // after the outer run, where that was cut off
	return inside.res, inside.err
}

// Whatever ends a call and its run at the same moment, the call has one result, the run ends as it
// should, and no goroutine is left.
func TestTool_races(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreCurrent()) })
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	for range 32 {
		workers.Go(func() {
			for seed := range seeds {
				r := newRace(seed)
				res, err := r.run(t)
				r.check(t, seed, &res, err)
				close(r.late)
			}
		})
	}
	for seed := range uint64(prove.Cases()) {
		seeds <- seed
	}
	close(seeds)
	waittest.All(t, &workers)
}

// check holds the outcome of a race to what it may be.
func (r *race) check(t *testing.T, seed uint64, res *orchestrator.Result, err error) {
	fail := func(format string, args ...any) { t.Errorf("seed %d: %s: "+format, append([]any{seed, r}, args...)...) }
	switch {
	case res.Status == machine.StatusDone && err == nil:
		if text := res.Output.Text(); text != "done" {
			fail("it said %q", text)
		}
	case res.Status == machine.StatusStopped && r.meets != "nothing" && r.meets != "time-out":
		if e := res.Output.Err; e == nil || e.Code != delegation.CodeStopped {
			fail("the error of a run that was stopped is %v", e)
		}
	default:
		fail("it is %s: %v", res.Status, err)
	}
	results := 0
	for _, m := range res.Output.Messages {
		if tool, ok := m.(messages.Tool); ok && tool.CallID == "1" {
			results++
		}
	}
	if results > 1 || results == 0 && res.Status == machine.StatusDone {
		fail("the call has %d results", results)
	}
}

// exiting is a client that ends the goroutine of whoever asks it for the second time, as t.FailNow
// does.
type exiting struct {
	llmclient.Client
	calls int
}

func (c *exiting) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	if c.calls++; c.calls == 2 {
		runtime.Goexit()
	}
	return c.Client.Complete(ctx, req, onDelta)
}

// A client that ends its goroutine has failed, and the run is told to its end, also when that
// goroutine is the loop's: then it ends with the run.
func TestClient_exits(t *testing.T) {
	for _, notes := range []chan string{nil, make(chan string)} {
		tool := raw("a", func(context.Context, string) (string, error) { return "A", nil })
		client := &exiting{Client: scripted.New(scripted.Calls(scripted.Call("a", "{}", "1")), scripted.Text("done"))}
		o := solver(t, client, with(tool), stored(new(checkpoint.Memory)))
		ta := task("go")
		ta.Notes = notes
		var last machine.Event
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			for e := range o.Stream(t.Context(), ta) {
				last = e
			}
			returned = true
		}()
		waittest.Receive(t, ended)
		require.Equal(t, notes != nil, returned)
		require.Equal(t, delegation.CodePanic, last.Detail.(machine.RunFinished).Output.Err.Code)
	}
}

// What is emitted for an effect that is over is not told, though the run goes on.
func TestEmit_afterTheEffect(t *testing.T) {
	var outer context.Context
	first := tools.NewRaw(tools.Definition{Name: "first"}, func(ctx context.Context, _ string) (string, error) {
		outer = ctx
		return "", nil
	})
	second := tools.NewRaw(tools.Definition{Name: "second"}, func(context.Context, string) (string, error) {
		orchestrator.Emit(outer, machine.Event{Kind: "late"})
		return "", nil
	})
	model := scripted.New(scripted.Calls(scripted.Call("first", "{}", "1")), scripted.Calls(scripted.Call("second", "{}", "2")), scripted.Text("done"))
	events := watched(t, solver(t, model, with(first, second)), task("go"))
	require.NotContains(t, kinds(events), machine.EventKind("late"))
}

// The time of a tool counts from its call, however long the consumer took before.
func TestTimeout_afterASlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hangs := tools.NewRaw(tools.Definition{Name: "hangs", Timeout: time.Second}, func(context.Context, string) (string, error) {
			<-release
			return "", nil
		})
		began := time.Now()
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("hangs", "{}", "1")), scripted.Text("done")), with(hangs))
		for e, err := range o.Stream(t.Context(), task("go")) {
			require.NoError(t, err)
			if e.Kind == machine.EventToolStarted {
				time.Sleep(time.Hour)
			}
		}
		require.Equal(t, time.Hour+time.Second+toolrun.DefaultGrace, time.Since(began))
		close(release)
	})
}

// A tool that asks with a context that outlives its call hears that the run is over, though
// Config.Reply never returns.
func TestAsk_outlivesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard, release := make(chan error, 1), make(chan struct{})
		asks := tools.NewRaw(tools.Definition{Name: "asks"}, func(ctx context.Context, _ string) (string, error) {
			text, err := tools.Ask(context.WithoutCancel(ctx), tools.Question{Text: "which?"})
			heard <- err
			return text, err
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("asks", "{}", "1"))), with(asks), func(c *orchestrator.Config) {
			c.Reply = func(context.Context, machine.Wait) (machine.Reply, error) {
				<-release
				return machine.Reply{}, nil
			}
		})
		for e, err := range o.Stream(t.Context(), task("go")) {
			require.NoError(t, err)
			if e.Kind == machine.EventWaitStarted {
				break
			}
		}
		close(release)
		synctest.Wait()
		require.Len(t, heard, 1)
		require.Error(t, <-heard)
	})
}

// A middleware that panics late, after its call was abandoned, harms no run.
func TestMiddleware_panicsLate(t *testing.T) {
	release, reported := make(chan struct{}), make(chan struct{})
	hangs := tools.NewRaw(tools.Definition{Name: "hangs", Timeout: time.Millisecond}, func(context.Context, string) (string, error) {
		<-release
		return "", nil
	})
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("hangs", "{}", "1")), scripted.Text("done")), with(hangs),
		handles(func(ctx context.Context, e machine.Effect, next orchestrator.Handler) (nextstep.Answer, error) {
			answer, err := next(ctx, e)
			if e.Kind == machine.EffectTool {
				panic("late")
			}
			return answer, err
		}), func(c *orchestrator.Config) {
			c.OnPanic = func(context.Context, machine.PanicReport) { close(reported) }
		})
	res := ran(t, o, task("go"))
	require.Equal(t, "done", res.Output.Text())
	close(release)
	waittest.Receive(t, reported)
}
