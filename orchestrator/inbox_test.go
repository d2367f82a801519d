package orchestrator_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

var keyOfRun = checkpoint.Key{Run: "r"}

// ledger is a store that remembers its appends, and does something before it answers what was
// posted.
type ledger struct {
	checkpoint.Memory
	mu      sync.Mutex
	batches []checkpoint.Batch
	posted  func([]checkpoint.Message)
}

func (s *ledger) Append(ctx context.Context, b checkpoint.Batch) error {
	s.mu.Lock()
	b2 := b
	b2.Records, b2.Taken = slices.Clone(b.Records), slices.Clone(b.Taken)
	s.batches = append(s.batches, b2)
	s.mu.Unlock()
	return s.Memory.Append(ctx, b)
}

func (s *ledger) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	list, err := s.Memory.Posted(ctx, keys...)
	if s.posted != nil {
		s.posted(list)
	}
	return list, err
}

func (s *ledger) inbox(t *testing.T) (ids []string) {
	t.Helper()
	list, err := s.Memory.Posted(t.Context(), keyOfRun)
	require.NoError(t, err)
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

// waitingRun is a run that waits for the approval of a call.
func waitingRun(t *testing.T, store checkpoint.Store) machine.Wait {
	t.Helper()
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1"))), stored(store), with(echo("risky")), approving(orchestrator.ApprovalConfig{Default: machine.AskAlways}))
	res := ran(t, o, task("go"))
	require.Equal(t, machine.StatusWaiting, res.Status)
	return res.Waits[0]
}

func goingOn(t *testing.T, store checkpoint.Store, script ...scripted.Reply) *orchestrator.Orchestrator {
	t.Helper()
	return solver(t, scripted.New(script...), stored(store), with(echo("risky")), approving(orchestrator.ApprovalConfig{Default: machine.AskAlways}))
}

// The message of a stop leaves the inbox together with the record of the stop: who dies in between
// has lost neither.
func TestStop_leavesTheInboxWithItsRecord(t *testing.T) {
	for _, now := range []bool{false, true} {
		store := new(ledger)
		w := waitingRun(t, store)
		o := goingOn(t, store)
		require.NoError(t, o.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: w.ID, Approve: true}))
		require.NoError(t, o.Stop(t.Context(), keyOfRun, "enough", now))
		stop := store.inbox(t)[1]
		res, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
		require.ErrorContains(t, err, "enough")
		require.Equal(t, machine.StatusStopped, res.Status)
		for _, b := range store.batches {
			if slices.Contains(b.Taken, stop) {
				require.True(t, slices.ContainsFunc(b.Records, func(r checkpoint.Record) bool { return r.Type == "stopped" }), "%v", b.Records)
			}
		}
		require.Empty(t, store.inbox(t))
	}
}

// A stop that comes while a process leaves the run is applied by who goes on with it.
func TestStop_whileTheRunIsInterrupted(t *testing.T) {
	for _, now := range []bool{false, true} {
		store := new(ledger)
		ctx, cancel := context.WithCancelCause(t.Context())
		var o *orchestrator.Orchestrator
		leave := tools.NewRaw(tools.Definition{Name: "leave", ReadOnly: true}, func(context.Context, string) (string, error) {
			cancel(orchestrator.ErrInterrupted)
			require.NoError(t, o.Note(t.Context(), keyOfRun, "a note"))
			require.NoError(t, o.Stop(t.Context(), keyOfRun, "enough", now))
			return "left", nil
		})
		o = solver(t, scripted.New(scripted.Calls(scripted.Call("leave", "{}", "1")), scripted.Text("never")), with(leave), func(c *orchestrator.Config) { c.Store = store })
		_, err := o.Run(ctx, task("go"))
		require.ErrorIs(t, err, orchestrator.ErrInterrupted)
		var events []machine.Event
		for e, failed := range o.Resume(t.Context(), resuming("r")) {
			events, err = append(events, e), failed
		}
		require.ErrorContains(t, err, "enough")
		end := finished(t, events)
		require.Equal(t, machine.StatusStopped, end.Status)
		if _, heard := end.Output.Messages.Last().(messages.User); !heard {
			require.Contains(t, kinds(events), machine.EventNoteUnheard, "the next request was open already")
		}
		require.Empty(t, store.inbox(t))
		require.Equal(t, []string{"noted", "stopped"}, typesOf(t, store, "noted", "stopped"))
	}
}

// A stop after what is in progress, which is stored, holds in the next process as well: what was in
// progress and is safe is performed again, as it would have ended, and no model is asked any more.
func TestStop_ofAProcessThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := new(checkpoint.Memory)
		slow := tools.NewRaw(tools.Definition{Name: "slow", ReadOnly: true}, func(context.Context, string) (string, error) {
			time.Sleep(10 * time.Second)
			return "slept", nil
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("slow", "{}", "1"))), with(slow), stored(whole))
		time.AfterFunc(time.Second, func() { _ = o.Stop(context.Background(), keyOfRun, "enough", false) })
		_, err := o.Run(t.Context(), task("go"))
		require.ErrorContains(t, err, "enough")
		kinds := recordTypes(t, whole)
		left := died(t, whole, slices.Index(kinds, "stopped")+1, time.Nanosecond)
		time.Sleep(time.Second)
		model := scripted.New()
		var again atomic.Int32
		res, err := orchestrator.Collect(solver(t, model, with(counted("slow", &again)), stored(left)).Resume(t.Context(), resuming("r")))
		require.ErrorContains(t, err, "enough")
		require.Equal(t, machine.StatusStopped, res.Status)
		require.Empty(t, model.Requests())
		require.Equal(t, "did slow", res.Output.ToolMetas()[0].Output)
		require.EqualValues(t, 1, again.Load())
	})
}

func recordTypes(t *testing.T, store checkpoint.Store) (kinds []string) {
	t.Helper()
	for rec, err := range store.Read(t.Context(), keyOfRun, 1) {
		require.NoError(t, err)
		kinds = append(kinds, rec.Type)
	}
	return kinds
}

// A message that is refused leaves the inbox, also if the run has nothing else to store: it is not
// refused again by each process that looks at the run. One of a later version stays for a program
// that knows it, whatever it seems to say.
func TestInbox_refused(t *testing.T) {
	for text, left := range map[string][]string{
		"garbage": nil, `{"v":1,"type":"dance"}`: nil, `{"v":2,"type":"stop","now":true}`: {"1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := new(ledger)
			w := waitingRun(t, store)
			require.NoError(t, store.Post(t.Context(), checkpoint.Message{ID: "1", Key: keyOfRun, Data: []byte(text)}))
			o := goingOn(t, store, scripted.Text("done"))
			r := startRecover(t, o, orchestrator.Recovery{})
			time.Sleep(time.Hour)
			require.Equal(t, left, store.inbox(t))
			require.Equal(t, checkpoint.StatusWaiting, headOf(t, store, "r").Header.Status)
			if left == nil {
				require.LessOrEqual(t, headOf(t, store, "r").Epoch, int64(2), "it was taken up once")
			}
			require.NoError(t, o.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: w.ID, Approve: true}))
			time.Sleep(time.Minute)
			require.Equal(t, machine.StatusDone, r.end("r").Status)
			require.Equal(t, left, store.inbox(t))
		})
	}
}

// Messages come in the order in which they were posted, from whatever process.
func TestInbox_order(t *testing.T) {
	store := new(ledger)
	var o *orchestrator.Orchestrator
	tell := tools.NewRaw(tools.Definition{Name: "tell"}, func(ctx context.Context, _ string) (string, error) {
		require.NoError(t, goingOn(t, store).Note(ctx, keyOfRun, "elsewhere"))
		require.NoError(t, o.Note(ctx, keyOfRun, "here"))
		return "told", nil
	})
	o = solver(t, scripted.New(scripted.Calls(scripted.Call("tell", "{}", "1")), scripted.Text("done")), with(tell), func(c *orchestrator.Config) {
		c.Store, c.InboxEvery = store, time.Hour
	})
	ran(t, o, task("go"))
	require.Equal(t, []string{"elsewhere", "here"}, notes(t, store))
}

func notes(t *testing.T, store checkpoint.Store) []string { return notesOf(t, store, keyOfRun) }

func notesOf(t *testing.T, store checkpoint.Store, key checkpoint.Key) (texts []string) {
	t.Helper()
	for rec, err := range store.Read(t.Context(), key, 1) {
		require.NoError(t, err)
		read, err := machine.ReadRecord(rec.Data)
		require.NoError(t, err)
		if n, ok := read.(machine.Noted); ok {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// A message that a slow store has read before it was taken is not applied a second time, to the run
// as it was resumed since.
func TestInbox_appliedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(ledger)
		var slowed atomic.Bool
		store.posted = func(list []checkpoint.Message) {
			if len(list) == 1 && !slowed.Swap(true) {
				time.Sleep(time.Minute)
			}
		}
		wait := tools.NewRaw(tools.Definition{Name: "wait", ReadOnly: true, Timeout: -1}, func(ctx context.Context, _ string) (string, error) {
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Minute):
			}
			return "", ctx.Err()
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("wait", "{}", "1")), scripted.Text("done")), with(wait), stored(store))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { _ = goingOn(t, store).Note(context.Background(), keyOfRun, "one") })
		time.AfterFunc(10*time.Second, func() { _ = o.Note(context.Background(), keyOfRun, "two") })
		time.AfterFunc(20*time.Second, func() { cancel(orchestrator.ErrInterrupted) })
		_, err := o.Run(ctx, task("go"))
		require.ErrorIs(t, err, orchestrator.ErrInterrupted)
		require.True(t, slowed.Load())
		goOn(t, o, "r")
		require.Equal(t, []string{"one", "two"}, notes(t, store))
	})
}

// A reply that another process posts just when a resumption has read the inbox counts.
func TestInbox_postedMeanwhile(t *testing.T) {
	store := new(ledger)
	w := waitingRun(t, store)
	o := goingOn(t, store, scripted.Text("done"))
	var once sync.Once
	store.posted = func([]checkpoint.Message) {
		once.Do(func() {
			store.posted = nil
			require.NoError(t, goingOn(t, store).Answer(t.Context(), keyOfRun, machine.Reply{WaitID: w.ID, Approve: true}))
		})
	}
	res, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
}
