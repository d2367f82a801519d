package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// begun begins the run of a task for an engine.
func begun(t *testing.T, o *orchestrator.Orchestrator, ta orchestrator.Task) orchestrator.Standing {
	t.Helper()
	s, err := o.Begin(t.Context(), ta)
	require.NoError(t, err)
	return s
}

// stepsTo performs effects one after the other until there is one of a kind, or none.
func stepsTo(t *testing.T, o *orchestrator.Orchestrator, s orchestrator.Standing, kind machine.EffectKind) orchestrator.Standing {
	t.Helper()
	for len(s.Effects) > 0 && s.Effects[0].Kind != kind {
		var err error
		s, err = o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
		require.NoError(t, err)
	}
	return s
}

func continued(t *testing.T, o *orchestrator.Orchestrator, s orchestrator.Standing, how orchestrator.Continuation) orchestrator.Standing {
	t.Helper()
	s, err := o.Continue(t.Context(), s.Key, how)
	require.NoError(t, err)
	return s
}

// paying is a run that pays once.
func paying(t *testing.T, paid *atomic.Int32) func(store checkpoint.Store, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
	t.Helper()
	return func(store checkpoint.Store, edit ...func(*orchestrator.Config)) *orchestrator.Orchestrator {
		model := always(func(req *llmclient.Request) scripted.Reply {
			if _, ok := req.Messages.Last().(messages.Tool); ok {
				return scripted.Text("done")
			}
			return scripted.Calls(callsTo("pay")...)
		})
		return solver(t, model, append(edit, stored(store), with(counted("pay", paid)), handles(dying))...)
	}
}

// A call that must not be repeated is not made by a process that was frozen before it, and wakes up
// when the engine has given it up: neither when a person is asked, nor when the call was made by
// another process since.
func TestEngine_zombie(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var paid atomic.Int32
			memory, frozen := new(checkpoint.Memory), make(chan struct{})
			slow := &troubled{Memory: memory}
			build := paying(t, &paid)
			zombie, other := build(slow), build(memory)
			s := stepsTo(t, zombie, begun(t, zombie, task("go")), machine.EffectTool)
			slow.before = func(_ context.Context, method string, b *checkpoint.Batch) error {
				if method == "Append" && len(b.Records) == 0 {
					<-frozen
				}
				return nil
			}
			woken := make(chan stepped, 1)
			go func() {
				after, err := zombie.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
				woken <- stepped{standing: after, err: err}
			}()
			synctest.Wait()
			s = continued(t, other, s, orchestrator.Continuation{Unclear: true, Epoch: s.Epoch})
			require.Equal(t, machine.StatusWaiting, s.Status)
			require.Equal(t, machine.WaitUnknown, s.Waits[0].Kind)
			if again {
				s = continued(t, other, s, orchestrator.Continuation{Replies: []machine.Reply{{WaitID: s.Waits[0].ID, Approve: true}}})
				require.Len(t, s.Effects, 1)
			}
			close(frozen)
			late := <-woken
			require.NoError(t, late.err)
			require.Zero(t, paid.Load(), "nobody has paid yet")
			require.Equal(t, s.Records, late.standing.Records)
			if again {
				s = stepsTo(t, other, s, "")
				require.Equal(t, machine.StatusDone, s.Status)
				require.EqualValues(t, 1, paid.Load())
			}
		})
	}
}

// Whatever dies, a call that must not be repeated is made once, unless a person says so.
func TestEngine_neverTwice(t *testing.T) {
	unclear, seeds := 0, prove.CasesOr(100)
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 8)) //nolint:gosec // a seed is what is wanted
		p, w, store := drawProgram(rng), world{paid: map[string]int{}, unsafe: map[string]int{}}, new(checkpoint.Memory)
		e := engine{t: t, rng: rng, kills: true, answers: func(wait machine.Wait) machine.Reply {
			return machine.Reply{WaitID: wait.ID, Approve: wait.Kind == machine.WaitApproval, Text: "so it is"}
		}}
		for range 3 {
			e.os = append(e.os, p.process(t, &w, store))
		}
		if e.pokes = seed%2 == 0; e.pokes {
			require.Contains(t, []machine.Status{machine.StatusDone, machine.StatusStopped}, e.run(task("go")).Status)
		} else {
			require.Equal(t, machine.StatusDone, e.run(task("go")).Status)
		}
		for key, n := range w.unsafe {
			require.Equal(t, 1, n, "seed %d: %s", seed, key)
		}
		for _, err := range e.any().Follow(t.Context(), checkpoint.Key{Run: "r"}, orchestrator.Position{}) { // the journal can be read
			_, ends := errors.AsType[*delegation.Error](err)
			require.True(t, err == nil || ends, "seed %d: %v", seed, err)
		}
		unclear += e.unclear
	}
	require.Greater(t, unclear, seeds/10)
}

// A run belongs to the loop or to an engine. Who takes it over keeps it.
func TestEngine_owners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int32
		store := new(checkpoint.Memory)
		o := paying(t, &paid)(store)
		s := stepsTo(t, o, begun(t, o, task("go")), machine.EffectTool)
		require.Equal(t, s, begun(t, o, task("go")), "it is the same run")
		var exists *orchestrator.RunExistsError
		_, err := o.Begin(t.Context(), task("go elsewhere"))
		require.ErrorAs(t, err, &exists)

		recoverFor(t, time.Hour, o, orchestrator.Recovery{})
		_, err = resumed(t, o, "r")
		require.ErrorAs(t, err, &exists)
		require.True(t, exists.InProgress)
		now, err := o.Standing(t.Context(), s.Key)
		require.NoError(t, err)
		require.Equal(t, s.Records, now.Records, "nobody has touched it")

		how := resuming("r")
		how.TakeOver = true
		res, err := orchestrator.Collect(o.Resume(t.Context(), how))
		require.NoError(t, err)
		require.Equal(t, machine.StatusWaiting, res.Status, "the call may have been made")
		_, err = o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
		require.ErrorAs(t, err, &exists)
		require.ErrorIs(t, err, orchestrator.ErrNotBegun)
		_, err = o.Continue(t.Context(), s.Key, orchestrator.Continuation{Unclear: true, Epoch: s.Epoch})
		require.ErrorAs(t, err, &exists)
		require.Zero(t, paid.Load())
	})
}

// counting counts what is read of a store.
type counting struct {
	*checkpoint.Memory
	calls, records atomic.Int64
}

func (s *counting) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	s.calls.Add(1)
	return s.Memory.Head(ctx, key)
}

func (s *counting) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	s.calls.Add(1)
	return s.Memory.Posted(ctx, keys...)
}

func (s *counting) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	s.calls.Add(1)
	return func(yield func(checkpoint.Record, error) bool) {
		for rec, err := range s.Memory.Read(ctx, key, from) {
			s.records.Add(1)
			if !yield(rec, err) {
				return
			}
		}
	}
}

// What a step reads does not grow with the run: what two processes read is what the other has
// stored.
func TestEngine_flatCost(t *testing.T) {
	const steps = 2000
	store := &counting{Memory: new(checkpoint.Memory)}
	build := func() *orchestrator.Orchestrator {
		asks := func() strategy.Strategy {
			n := 0
			return &scene{Reply: func(llmclient.Response) nextstep.NextStep {
				if n++; n == steps {
					return done("ok")
				}
				return ask("more")
			}}
		}
		return solver(t, always(func(*llmclient.Request) scripted.Reply { return scripted.Text("so") }), stored(store), func(c *orchestrator.Config) {
			c.Strategies, c.Limits = strategy.Set{"solve": asks}, delegation.Limits{Steps: -1, ModelCalls: -1}
		})
	}
	os := []*orchestrator.Orchestrator{build(), build()}
	s := begun(t, os[0], task("go"))
	for n := range steps {
		var err error
		s, err = os[n%2].Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
		require.NoError(t, err)
	}
	require.Equal(t, machine.StatusDone, s.Status)
	require.LessOrEqual(t, store.calls.Load(), int64(5*steps))
	require.LessOrEqual(t, store.records.Load(), int64(steps+10))
}

// A store that fails before an effect keeps it from being begun; behind it the answer is lost.
func TestEngine_storeFails(t *testing.T) {
	var paid atomic.Int32
	store := troubledBy(nil)
	o := paying(t, &paid)(store, func(c *orchestrator.Config) { c.Timeouts.Store = -1 })
	s := stepsTo(t, o, begun(t, o, task("go")), machine.EffectTool)
	fails := func(records int) {
		store.before = func(_ context.Context, method string, b *checkpoint.Batch) error {
			if method == "Append" && len(b.Records) >= records {
				return errDisk
			}
			return nil
		}
	}
	fails(0)
	_, err := o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
	require.ErrorIs(t, err, errDisk)
	require.ErrorIs(t, err, orchestrator.ErrNotBegun)
	require.Zero(t, paid.Load())
	fails(1)
	_, err = o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
	require.ErrorIs(t, err, errDisk)
	require.False(t, errors.Is(err, orchestrator.ErrNotBegun))
	require.EqualValues(t, 1, paid.Load())
	store.before = nil
	s = continued(t, o, s, orchestrator.Continuation{Unclear: true, Epoch: s.Epoch})
	require.Equal(t, machine.WaitUnknown, s.Waits[0].Kind)
	require.NoError(t, o.Answer(t.Context(), s.Key, machine.Reply{WaitID: s.Waits[0].ID, Text: "so it is"}))
	inboxFails(store, -1, errDisk)
	_, err = o.Continue(t.Context(), s.Key, orchestrator.Continuation{})
	require.ErrorIs(t, err, errDisk, "else what was posted would be left to nobody")
	store.before = nil
	s = continued(t, o, s, orchestrator.Continuation{})
	require.Empty(t, s.Waits)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = o.Step(ctx, s.Key, machine.EffectID{Seq: 1}, s.Epoch, nil)
	require.ErrorIs(t, err, orchestrator.ErrNotBegun)
	require.ErrorIs(t, err, context.Canceled)
}

// A run whose strategy is another one here is parked, and goes on where it fits.
func TestEngine_misfit(t *testing.T) {
	store := new(checkpoint.Memory)
	build := func(text string) *orchestrator.Orchestrator {
		return solver(t, always(func(*llmclient.Request) scripted.Reply { return scripted.Text("so") }), stored(store), func(c *orchestrator.Config) {
			c.Strict = true
			c.Strategies = strategy.Set{"solve": func() strategy.Strategy {
				n := 0
				return &scene{Start: func(delegation.Input) nextstep.NextStep { return ask(text) }, Reply: func(llmclient.Response) nextstep.NextStep {
					if n++; n == 2 {
						return done("ok")
					}
					return ask(text)
				}}
			}}
		})
	}
	old, other := build("old"), build("new")
	s := begun(t, old, task("go"))
	s, err := old.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
	require.NoError(t, err)
	_, err = other.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
	var misfit *machine.ReplayError
	require.ErrorAs(t, err, &misfit)
	require.ErrorIs(t, err, orchestrator.ErrNotBegun)
	require.Equal(t, checkpoint.StatusParked, headOf(t, store, "r").Header.Status)
	require.Equal(t, machine.StatusDone, stepsTo(t, old, s, "").Status)
	require.Equal(t, checkpoint.StatusDone, headOf(t, store, "r").Header.Status)
}

// The deltas of a reply, and the progress of a tool, come to whoever performs.
func TestEngine_observe(t *testing.T) {
	o := solver(t, scripted.New(scripted.Stream("a", "b")), stored(new(checkpoint.Memory)))
	s := begun(t, o, task("go"))
	text := ""
	s, err := o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, func(e machine.Event) {
		require.Equal(t, machine.EventTextDelta, e.Kind)
		text += e.Text
	})
	require.NoError(t, err)
	require.Equal(t, "ab", text)
	require.Equal(t, "ab", s.Result.Output.Text())
}

// A process that has driven more runs than it keeps goes on with any of them.
func TestEngine_manyRuns(t *testing.T) {
	o := solver(t, always(func(*llmclient.Request) scripted.Reply { return scripted.Text("so") }), stored(new(checkpoint.Memory)))
	var all []orchestrator.Standing
	for n := range 1100 {
		ta := task("go")
		ta.Run = fmt.Sprint("r", n)
		s, err := o.Standing(t.Context(), begun(t, o, ta).Key)
		require.NoError(t, err)
		all = append(all, s)
	}
	for _, s := range all {
		require.Equal(t, machine.StatusDone, stepsTo(t, o, s, "").Status)
	}
}
