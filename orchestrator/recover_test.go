package orchestrator_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/tools"
)

// recovering runs Recover until it is stopped, or the test ends, and keeps the last events of the
// runs.
type recovering struct {
	mu   sync.Mutex
	ends map[checkpoint.Key]machine.RunFinished
	stop func() error // returns the error of Recover
}

func startRecover(t *testing.T, o *orchestrator.Orchestrator, how orchestrator.Recovery) *recovering {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &recovering{ends: map[checkpoint.Key]machine.RunFinished{}}
	how.Event = func(k checkpoint.Key, e machine.Event) {
		if end, ok := e.Detail.(machine.RunFinished); ok {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ends[k] = end
		}
	}
	done := make(chan error, 1)
	go func() { done <- o.Recover(ctx, how) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// recoverFor runs Recover for a while.
func recoverFor(t *testing.T, d time.Duration, o *orchestrator.Orchestrator, how orchestrator.Recovery) *recovering {
	t.Helper()
	r := startRecover(t, o, how)
	time.Sleep(d)
	_ = r.stop()
	return r
}

func (r *recovering) end(run string) machine.RunFinished {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends[checkpoint.Key{Run: run}]
}

// forget drops the events that are kept.
func (r *recovering) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.ends)
}

func headOf(t *testing.T, store checkpoint.Store, run string) checkpoint.Head {
	t.Helper()
	h, err := store.Head(t.Context(), checkpoint.Key{Run: run})
	require.NoError(t, err)
	return h
}

// died leaves a store as a process does that dies when its run has stored so many records.
func died(t *testing.T, from *checkpoint.Memory, records int, lease time.Duration) *checkpoint.Memory {
	t.Helper()
	left := new(checkpoint.Memory)
	head := headOf(t, from, "r")
	for rec, err := range from.Read(t.Context(), head.Key, 1) {
		require.NoError(t, err)
		if rec.Seq > records {
			break
		}
		require.NoError(t, left.Append(t.Context(), checkpoint.Batch{
			Key: head.Key, Records: []checkpoint.Record{rec}, Writer: "dead", Epoch: 1, Lease: lease,
			Header: &checkpoint.Header{Status: checkpoint.StatusRunning, Strategy: head.Header.Strategy, Format: head.Header.Format},
		}))
	}
	return left
}

// A run whose process has died is taken up once its lease is over, and not before.
func TestRecover_runOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid atomic.Int32
		build := func(store checkpoint.Store) *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done")), stored(store), with(counted("pay", &paid)))
		}
		whole := new(checkpoint.Memory)
		ran(t, build(whole), task("go"))
		left := died(t, whole, 1, 30*time.Second)
		o := build(left)
		r := startRecover(t, o, orchestrator.Recovery{})
		time.Sleep(29 * time.Second)
		require.Equal(t, "dead", headOf(t, left, "r").Lease.Writer)
		require.EqualValues(t, 1, paid.Load())
		time.Sleep(12 * time.Second)
		require.Equal(t, machine.StatusDone, r.end("r").Status)
		head := headOf(t, left, "r")
		require.Equal(t, checkpoint.StatusDone, head.Header.Status)
		require.Equal(t, checkpoint.Lease{}, head.Lease)
		require.Zero(t, head.Recoveries, "it has come further")
		require.EqualValues(t, 2, paid.Load())
		require.ErrorIs(t, r.stop(), context.Canceled)
	})
}

// A run whose recovery ends the process each time is parked after three of them, with the reason.
// Whoever resumes it by hand may.
func TestRecover_endsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		build := func(store checkpoint.Store) *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Text("done"), scripted.Text("done")), stored(store))
		}
		whole := new(checkpoint.Memory)
		ran(t, build(whole), task("go"))
		left := died(t, whole, 1, time.Second)
		for range 3 {
			time.Sleep(2 * time.Second)
			_, err := left.Lease(t.Context(), checkpoint.Key{Run: "r"}, time.Now().String(), time.Second) // and that process dies
			require.NoError(t, err)
		}
		r := startRecover(t, build(left), orchestrator.Recovery{})
		time.Sleep(time.Minute)
		head := headOf(t, left, "r")
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
		require.Contains(t, head.Header.Reason, "3 times")
		require.Equal(t, 1, head.Last, "nothing happened to it")
		_ = r.stop()

		res := goOn(t, build(left), "r")
		require.Equal(t, machine.StatusDone, res.Status)
		require.Equal(t, checkpoint.StatusDone, headOf(t, left, "r").Header.Status)
	})
}

// A run that this program cannot go on with is parked by the reason, left alone by the same
// version, and taken up by another one.
func TestRecover_otherVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := func(v string) func(*orchestrator.Config) { return func(c *orchestrator.Config) { c.Version = v } }
		whole := new(checkpoint.Memory)
		build := func(store checkpoint.Store, v string) *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Text("done")), stored(store), version(v))
		}
		ran(t, build(whole, "1"), task("go"))
		left := died(t, whole, 1, time.Second)
		other := staged(t, only(func() *scene { return &scene{} }), stored(left), version("2")) // has no strategy of that name
		r := startRecover(t, other, orchestrator.Recovery{})
		time.Sleep(time.Minute)
		head := headOf(t, left, "r")
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
		require.Contains(t, head.Header.Reason, `no strategy "solve"`)
		require.Equal(t, "2", head.Header.Version)
		epoch := head.Epoch
		time.Sleep(time.Hour)
		require.Equal(t, epoch, headOf(t, left, "r").Epoch, "it is left alone")
		_ = r.stop()

		r = startRecover(t, build(left, "1"), orchestrator.Recovery{})
		time.Sleep(time.Minute)
		require.Equal(t, machine.StatusDone, r.end("r").Status)
		require.Equal(t, "1", headOf(t, left, "r").Header.Version)
	})
}

// A tool that waits for a time is called again when it has come, in whatever process; nothing waits
// meanwhile.
func TestRecover_timer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		var calls atomic.Int32
		later := tools.NewRaw(tools.Definition{Name: "later"}, func(ctx context.Context, _ string) (string, error) {
			calls.Add(1)
			if err := tools.WaitUntil(ctx, time.Now().Add(24*time.Hour), "tomorrow"); err != nil {
				return "", err
			}
			return "it is tomorrow", nil
		})
		build := func() *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Calls(scripted.Call("later", "{}", "1")), scripted.Text("done")), stored(store), with(later))
		}
		o := build()
		res := ran(t, o, task("go"))
		require.Equal(t, machine.StatusWaiting, res.Status)
		require.Equal(t, machine.WaitTimer, res.Waits[0].Kind)
		head := headOf(t, store, "r")
		require.Equal(t, checkpoint.StatusWaiting, head.Header.Status)
		require.WithinDuration(t, time.Now().Add(24*time.Hour), head.Header.Due, time.Second)
		r := startRecover(t, o, orchestrator.Recovery{})
		time.Sleep(23 * time.Hour)
		require.EqualValues(t, 1, calls.Load())
		time.Sleep(2 * time.Hour)
		end := r.end("r")
		require.Equal(t, machine.StatusDone, end.Status)
		require.Equal(t, "it is tomorrow", end.Output.ToolMetas()[0].Output)
		require.EqualValues(t, 2, calls.Load())
	})
}

// A reply, a note and a stop come to a run from any process: to one that works, and to one that
// nobody works on.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, key := new(checkpoint.Memory), checkpoint.Key{Run: "r"}
		var runs atomic.Int32
		build := scriptedBy(t, stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{}))
		res := ran(t, build(scripted.Calls(scripted.Call("risky", "{}", "1"))), task("go"))
		elsewhere := build()
		var refused *machine.ReplyError
		require.ErrorAs(t, elsewhere.Answer(t.Context(), key, machine.Reply{WaitID: "none"}), &refused)
		var missing *orchestrator.JournalError
		require.ErrorAs(t, elsewhere.Answer(t.Context(), checkpoint.Key{Run: "none"}, machine.Reply{}), &missing)
		require.NoError(t, elsewhere.Note(t.Context(), key, "a note"))
		require.NoError(t, elsewhere.Answer(t.Context(), key, machine.Reply{WaitID: res.Waits[0].ID, Approve: true}))
		require.NoError(t, elsewhere.Answer(t.Context(), key, machine.Reply{WaitID: res.Waits[0].ID, Reason: "no"}), "the first one counts")

		r := startRecover(t, build(scripted.Text("done")), orchestrator.Recovery{})
		time.Sleep(time.Minute)
		require.Equal(t, machine.StatusDone, r.end("r").Status)
		require.EqualValues(t, 1, runs.Load())
		_ = r.stop()
		posted, err := store.Posted(t.Context(), key)
		require.NoError(t, err)
		require.Empty(t, posted)
		require.Equal(t, []string{"started", "intended", "replied", "noted"}, typesOf(t, store, "started", "intended", "replied", "noted"))
	})
}

// typesOf returns which of these types the records of the run have, each once, in that order.
func typesOf(t *testing.T, store checkpoint.Store, kinds ...string) (found []string) {
	t.Helper()
	there := map[string]bool{}
	for rec, err := range store.Read(t.Context(), checkpoint.Key{Run: "r"}, 1) {
		require.NoError(t, err)
		stored, err := machine.ReadRecord(rec.Data)
		require.NoError(t, err)
		require.Equal(t, machine.TypeOf(stored), rec.Type)
		there[rec.Type] = true
	}
	for _, kind := range kinds {
		if there[kind] {
			found = append(found, kind)
		}
	}
	return found
}

// Stop reaches a run that another process works on, at once or after what is in progress.
func TestInbox_stop(t *testing.T) {
	for _, now := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, key := new(checkpoint.Memory), checkpoint.Key{Run: "r"}
			slow := tools.NewRaw(tools.Definition{Name: "slow", Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
				select {
				case <-time.After(time.Minute):
					return "slept", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			})
			build := func() *orchestrator.Orchestrator {
				return solver(t, scripted.New(scripted.Calls(scripted.Call("slow", "{}", "1")), scripted.Text("done")), stored(store), with(slow))
			}
			time.AfterFunc(10*time.Second, func() { _ = build().Stop(context.Background(), key, "enough", now) })
			began := time.Now()
			res, err := build().Run(t.Context(), task("go"))
			require.Equal(t, machine.StatusStopped, res.Status)
			require.ErrorContains(t, err, "enough")
			if now {
				require.Less(t, time.Since(began), 15*time.Second)
			} else {
				require.Equal(t, time.Minute, time.Since(began))
				require.Equal(t, "slept", res.Output.ToolMetas()[0].Output)
			}
			posted, err := store.Posted(t.Context(), key)
			require.NoError(t, err)
			require.Empty(t, posted)
			require.NoError(t, build().Stop(t.Context(), key, "", true), "it has ended")
		})
	}
}

// A run whose context ends by ErrInterrupted has not ended: it goes on where it is resumed.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		var runs atomic.Int32
		slow := tools.NewRaw(tools.Definition{Name: "slow", ReadOnly: true, Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
			if runs.Add(1) > 1 {
				return "looked", nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		})
		build := func() *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Calls(scripted.Call("slow", "{}", "1")), scripted.Text("done")), stored(store), with(slow))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(orchestrator.ErrInterrupted) })
		res, err := build().Run(ctx, task("go"))
		require.ErrorIs(t, err, orchestrator.ErrInterrupted)
		require.Equal(t, machine.StatusInterrupted, res.Status)
		require.Equal(t, delegation.CodeInterrupted, res.Output.Err.Code)
		require.NotEmpty(t, res.Output.Messages)
		require.Equal(t, checkpoint.Lease{}, headOf(t, store, "r").Lease, "others may go on at once")
		res = goOn(t, build(), "r")
		require.Equal(t, machine.StatusDone, res.Status)
		require.Equal(t, "looked", res.Output.ToolMetas()[0].Output)
	})
}

// A process that is taken over while it works is cut off by its heartbeat.
func TestLease_takenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		hangs := tools.NewRaw(tools.Definition{Name: "slow", ReadOnly: true, Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		build := func() *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Calls(scripted.Call("slow", "{}", "1")), scripted.Text("done")), stored(store), with(hangs))
		}
		type end struct {
			res orchestrator.Result
			err error
		}
		first := make(chan end, 1)
		go func() {
			res, err := build().Run(t.Context(), task("go"))
			first <- end{res, err}
		}()
		time.Sleep(5 * time.Minute)
		require.WithinDuration(t, time.Now(), headOf(t, store, "r").Lease.Until, 31*time.Second, "the heartbeat has kept the lease")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, orchestrator.ErrInterrupted)
		defer cancel()
		_, err := orchestrator.Collect(build().Resume(ctx, resuming("r")))
		require.ErrorIs(t, err, checkpoint.ErrLeased)
		_, err = orchestrator.Collect(build().Resume(ctx, orchestrator.Resumption{Run: "r", TakeOver: true}))
		require.ErrorIs(t, err, orchestrator.ErrInterrupted)
		time.Sleep(time.Minute)
		require.Len(t, first, 1, "its heartbeat has cut it off")
		live := <-first
		require.ErrorIs(t, live.err, orchestrator.ErrTakenOver)
		require.Equal(t, machine.StatusTakenOver, live.res.Status)
	})
}

// An append that fails is made again, and is not there twice.
func TestStore_triesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, calls := troubledBy(nil), 0
		store.before = func(ctx context.Context, method string, b *checkpoint.Batch) error {
			if method != "Append" {
				return nil
			}
			switch calls++; calls % 3 { // it fails before it has appended, and afterwards
			case 1:
				return errDisk
			case 2:
				return errors.Join(store.Memory.Append(ctx, *b), errDisk)
			default:
				return nil
			}
		}
		var paid atomic.Int32
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("pay", "{}", "1")), scripted.Text("done")), with(counted("pay", &paid)),
			func(c *orchestrator.Config) { c.Store = store })
		res := ran(t, o, task("go"))
		require.Equal(t, machine.StatusDone, res.Status)
		require.EqualValues(t, 1, paid.Load())
		require.Greater(t, calls, 8)
	})
}

// Forks are parked until somebody resumes them: no version of a program starts them by itself.
func TestRecover_leavesForksAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		build := func(version string) *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Text("done"), scripted.Text("done")), stored(store), func(c *orchestrator.Config) { c.Version = version })
		}
		o := build("1")
		ran(t, o, task("go"))
		fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: 1, Run: "fork"})
		require.Equal(t, checkpoint.StatusParked, headOf(t, store, "fork").Header.Status)
		startRecover(t, build("2"), orchestrator.Recovery{})
		time.Sleep(time.Hour)
		require.Equal(t, checkpoint.StatusParked, headOf(t, store, "fork").Header.Status)
		require.Equal(t, 1, headOf(t, store, "fork").Last)
	})
}

// A process that is taken over while it still reads the journal says so.
func TestLease_takenOverWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troubledBy(func(ctx context.Context, method string, _ *checkpoint.Batch) error {
			if method == "Read" {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		build := func(s checkpoint.Store) *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Text("done")),
				stored(s), with(counted("risky", new(atomic.Int32))), approving(orchestrator.ApprovalConfig{}))
		}
		ran(t, build(store), task("go"))
		over := make(chan error, 1)
		go func() {
			_, err := orchestrator.Collect(build(store).Resume(context.Background(), resuming("r")))
			over <- err
		}()
		time.Sleep(time.Second)
		_, err := orchestrator.Collect(build(store.Memory).Resume(t.Context(), orchestrator.Resumption{Run: "r", TakeOver: true}))
		require.NoError(t, err)
		require.ErrorIs(t, <-over, orchestrator.ErrTakenOver)
	})
}
