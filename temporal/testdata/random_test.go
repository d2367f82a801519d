package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/temporal"
)

// TestRandom of the module temporal adds this file to the tests of orchestrator. Random runs come
// to the same on the server of TEMPORAL_ADDRESS as in the loop. If no effects are in progress
// together, they have the same records and events, times aside. In every second run activities die,
// before their answer is stored or behind that, and each wait is answered as soon as the store
// shows it. No reply is refused, and no call is made twice unless a person says so.
func TestOnTemporal(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("RUNS"))
	if err != nil {
		runs = 50
	}
	c, err := client.Dial(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Logger: quiet{}})
	require.NoError(t, err)
	defer c.Close()
	t.Run("seed", func(t *testing.T) {
		for seed := range runs {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				r := served{t: t, seed: uint64(seed), dies: seed%2 == 1, task: task("go")} //nolint:gosec // it is not negative
				r.task.Run = fmt.Sprint(t.Name(), time.Now().UnixNano())
				r.compare(c)
			})
		}
	})
}

// served is a random run.
type served struct {
	t    *testing.T
	seed uint64
	dies bool
	task orchestrator.Task
}

// compare makes the run in the loop, on an engine within the process, and on the server.
func (r *served) compare(c client.Client) {
	p := drawProgram(rand.New(rand.NewPCG(r.seed, 7))) //nolint:gosec // a seed is what is wanted
	var worlds [3]world
	var stores [3]checkpoint.Memory
	var os [3]*orchestrator.Orchestrator
	for i := range os {
		worlds[i].paid, worlds[i].unsafe = map[string]int{}, map[string]int{}
		os[i] = p.process(r.t, &worlds[i], &stores[i])
	}
	want := r.loop(os[0], &worlds[0])
	within := engine{t: r.t, os: os[1:2], rng: rand.New(rand.NewPCG(r.seed, 8)), answers: worlds[1].reply} //nolint:gosec // see above
	within.run(r.task)

	got, unknown := r.serve(c, os[2], &worlds[2])
	require.Equal(r.t, want.Status, got.Status)
	require.Equal(r.t, timeless(want.Output).Text(), timeless(got.Output).Text(), "%v", p)
	twice := 0
	for key, n := range worlds[2].paid {
		require.True(r.t, n == 1 || r.dies, "%s was done %d times", key, n)
		twice += max(0, worlds[2].unsafe[key]-1)
	}
	require.LessOrEqual(r.t, twice, unknown, "calls made again, and persons who said so")
	alike := within.most <= 1 && !r.dies
	if r.t.Logf("compared record by record: %t", alike); alike {
		require.Equal(r.t, journalLines(r.t, &stores[0], r.task.Run), journalLines(r.t, &stores[2], r.task.Run))
		require.Equal(r.t, toldOf(r.t, os[0], r.task.Run), toldOf(r.t, os[2], r.task.Run))
	}
	require.Zero(r.t, headOf(r.t, &stores[2], r.task.Run).Lease, "nobody has it any more")
}

// loop makes the run in the loop.
func (r *served) loop(o *orchestrator.Orchestrator, w *world) orchestrator.Result {
	res, err := o.Run(r.t.Context(), r.task)
	for res.Status == machine.StatusWaiting && err == nil {
		for _, wait := range res.Waits {
			require.NoError(r.t, o.Answer(r.t.Context(), checkpoint.Key{Run: r.task.Run}, w.reply(wait)))
		}
		res, err = orchestrator.Collect(o.Resume(r.t.Context(), orchestrator.Resumption{Run: r.task.Run}))
	}
	return res
}

// serve makes the run on the server. It returns how many calls somebody was asked about of which
// nobody knows.
func (r *served) serve(c client.Client, o *orchestrator.Orchestrator, w *world) (res orchestrator.Result, unknown int) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Minute)
	defer cancel()
	e := temporal.Engine{Client: c, Orchestrator: o, Queue: r.task.Run, Activities: map[machine.EffectKind]workflow.ActivityOptions{}}
	for _, kind := range []machine.EffectKind{machine.EffectModel, machine.EffectTool, machine.EffectRemote} {
		e.Activities[kind] = workflow.ActivityOptions{RetryPolicy: &sdk.RetryPolicy{InitialInterval: 20 * time.Millisecond, MaximumAttempts: 2}}
	}
	options := sdkworker.Options{MaxHeartbeatThrottleInterval: time.Second}
	if r.dies {
		options.Interceptors = []interceptor.WorkerInterceptor{&killer{rng: rand.New(rand.NewPCG(r.seed, 9))}} //nolint:gosec // see above
	}
	served := sdkworker.New(c, e.Queue, options)
	e.Register(served)
	require.NoError(r.t, served.Start())
	defer served.Stop()
	key := checkpoint.Key{Run: r.task.Run}
	r.insist(func() error {
		_, err := e.Start(ctx, r.task)
		if _, exists := errors.AsType[*orchestrator.RunExistsError](err); exists { // the first Start had an unclear end
			return nil
		}
		return err
	})
	answered := map[string]bool{}
	for s := (orchestrator.Standing{}); !checkpoint.Status(s.Status).Ended(); time.Sleep(5 * time.Millisecond) {
		var err error
		s, err = o.Standing(ctx, key)
		require.NoError(r.t, err)
		for i, wait := range s.Waits {
			if answered[wait.ID] || !r.dies && s.Status != machine.StatusWaiting {
				continue
			}
			answered[wait.ID] = true
			if wait.Kind == machine.WaitUnknown {
				unknown++
			}
			answer := e.Answer
			if !r.dies && i < len(s.Waits)-1 { // they come together, as in the loop
				answer = o.Answer
			}
			r.insist(func() error { return answer(ctx, key, w.reply(wait)) })
		}
	}
	res, _ = e.Result(ctx, key)
	require.NoError(r.t, ctx.Err())
	return res, unknown
}

// insist calls a function until it has no error, since a server under load fails now and then. A
// reply that is refused fails the test.
func (r *served) insist(do func() error) {
	for err := do(); err != nil; err = do() {
		_, refused := errors.AsType[*machine.ReplyError](err)
		require.False(r.t, refused || r.t.Context().Err() != nil, "%v", err)
		r.t.Log(err)
		time.Sleep(time.Second)
	}
}

// killer has activities die: before their answer is stored, or before the server hears of it.
type killer struct {
	interceptor.WorkerInterceptorBase

	mu  sync.Mutex
	rng *rand.Rand
}

func (k *killer) chance(n int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rng.IntN(n) == 0
}

func (k *killer) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &mortal{interceptor.ActivityInboundInterceptorBase{Next: next}, k}
}

type mortal struct {
	interceptor.ActivityInboundInterceptorBase
	*killer
}

func (m *mortal) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if m.chance(6) {
		ctx = context.WithValue(ctx, dies{}, cancel)
	}
	out, err := m.ActivityInboundInterceptorBase.ExecuteActivity(ctx, in)
	if m.chance(6) {
		return nil, errors.Join(err, errors.New("nobody has heard of it"))
	}
	return out, err
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
