package orchestrator_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

func stored(store checkpoint.Store) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Store, c.Timeouts.Store = store, -1 }
}

// runsIn returns the ids of the runs of a store.
func runsIn(t *testing.T, store checkpoint.Store) (ids []string) {
	t.Helper()
	lister, ok := checkpoint.As[checkpoint.Lister](store)
	require.True(t, ok)
	page, err := lister.List(t.Context(), checkpoint.Query{All: true})
	require.NoError(t, err)
	for _, h := range page.Heads {
		ids = append(ids, h.Key.Run)
	}
	return ids
}

func approving(cfg orchestrator.ApprovalConfig) func(*orchestrator.Config) {
	return func(c *orchestrator.Config) { c.Approve = &cfg }
}

// counted is a tool that says how often it ran.
func counted(name string, runs *atomic.Int32, def ...tools.Definition) tools.Tool {
	d := tools.Definition{Name: name}
	if len(def) > 0 {
		d = def[0]
	}
	return tools.NewRaw(d, func(context.Context, string) (string, error) {
		runs.Add(1)
		return "did " + name, nil
	})
}

// resuming is how a run goes on with replies.
func resuming(run string, replies ...machine.Reply) orchestrator.Resumption {
	return orchestrator.Resumption{Run: run, Replies: replies}
}

// resumed resumes a run and returns its events and error.
func resumed(t *testing.T, o *orchestrator.Orchestrator, run string, replies ...machine.Reply) ([]machine.Event, error) {
	t.Helper()
	return all(t, o.Resume(t.Context(), resuming(run, replies...)))
}

// watchedOn is resumed without an error.
func watchedOn(t *testing.T, o *orchestrator.Orchestrator, run string, replies ...machine.Reply) []machine.Event {
	t.Helper()
	events, err := resumed(t, o, run, replies...)
	require.NoError(t, err)
	return events
}

func all(t *testing.T, seq iter.Seq2[machine.Event, error]) ([]machine.Event, error) {
	t.Helper()
	var events []machine.Event
	var last error
	for e, err := range seq {
		require.NoError(t, last, "nothing comes after an error")
		events, last = append(events, e), err
	}
	return events, last
}

func question(text, id string) messages.ToolCall {
	args, _ := json.Marshal(map[string]string{"question": text})
	return scripted.Call(tools.AskUserName, string(args), id)
}

// A reply that fits nothing is refused, and loses nothing.
func TestResume_replies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		var runs atomic.Int32
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Text("done")),
			stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{Expires: time.Hour}))
		res := ran(t, o, task("go"))
		first := res.Waits[0]
		refused := func(problem string, replies ...machine.Reply) {
			events, err := resumed(t, o, "r", replies...)
			var wrong *machine.ReplyError
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, problem)
			require.Len(t, events, 1)
			require.Zero(t, events[0])
			require.Zero(t, runs.Load())
		}
		yes := machine.Reply{WaitID: first.ID, Approve: true}
		refused("does not wait for it", machine.Reply{WaitID: "another", Approve: true})
		refused("does not wait for anything", yes, yes)
		time.Sleep(2 * time.Hour)
		refused("does not wait for it", yes)

		events := watchedOn(t, o, "r")
		second := finished(t, events).Waits[0]
		require.NotEqual(t, first.ID, second.ID, "an approval that expired is not good for what is asked anew")
		refused("does not wait for it", yes)

		events = watchedOn(t, o, "r", machine.Reply{WaitID: second.ID, Approve: true})
		require.Equal(t, machine.StatusDone, finished(t, events).Status)
		require.EqualValues(t, 1, runs.Load())
		_, err := resumed(t, o, "r", machine.Reply{WaitID: second.ID, Approve: true})
		require.ErrorContains(t, err, "the run has ended")
	})
}

func TestResume_cannot(t *testing.T) {
	_, err := resumed(t, solver(t, scripted.New()), "r")
	var config *orchestrator.ConfigError
	require.ErrorAs(t, err, &config)
	require.ErrorContains(t, err, "Store")

	store := new(checkpoint.Memory)
	_, err = resumed(t, solver(t, scripted.New(), stored(store)), "nobody")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)

	var runs atomic.Int32
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1"))), stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{}))
	res := ran(t, o, task("go"))
	reworded := func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{System: "another prompt"})}
	}
	exact := func(c *orchestrator.Config) { c.Strict = true }
	yes := machine.Reply{WaitID: res.Waits[0].ID, Approve: true}
	_, err = resumed(t, solver(t, scripted.New(), stored(store), with(counted("risky", &runs)), reworded, exact), "r", yes)
	var replay *machine.ReplayError
	require.ErrorAs(t, err, &replay)
	require.Equal(t, 1, replay.Seq)
	require.Equal(t, replay.Recorded.Kind, replay.Now.Kind)
	require.NotEqual(t, replay.Recorded.Digest, replay.Now.Digest)
	require.ErrorContains(t, err, `run "r"`)
	require.Zero(t, runs.Load())

	lax := solver(t, scripted.New(scripted.Text("done")), stored(store), with(counted("risky", &runs)), reworded)
	events, err := resumed(t, lax, "r", yes)
	require.NoError(t, err, "as a rule only the shape of what is asked for has to be the same")
	require.Equal(t, 1, count(events, machine.EventDrifted))
	require.EqualValues(t, 1, runs.Load())

	require.NoError(t, store.Append(t.Context(), checkpoint.Batch{Key: checkpoint.Key{Run: "odd"}, Records: []checkpoint.Record{{Seq: 1, Data: []byte(`{"v":9,"type":"start"}`)}}}))
	_, err = resumed(t, o, "odd")
	require.ErrorContains(t, err, "record 1: ")
	require.ErrorContains(t, err, "format 9")
}

// An append that would fail again is not tried again: a run whose store is damaged ends at once.
func TestJournal_finalFaults(t *testing.T) {
	for _, final := range []error{checkpoint.ErrCorrupt, checkpoint.ErrTooLarge, checkpoint.ErrID, checkpoint.ErrClosed} {
		synctest.Test(t, func(t *testing.T) {
			o := solver(t, scripted.New(scripted.Text("never told")), func(c *orchestrator.Config) { c.Store = failsFrom(1, func() error { return final }) })
			began := time.Now()
			_, err := o.Run(t.Context(), task("go"))
			require.ErrorIs(t, err, final)
			require.Zero(t, time.Since(began), "nothing was waited for")
		})
	}
}

// S3-14, S4-5: a question at any depth ends the run as waiting, without an error; the answer goes
// on.
func TestS3_14_S4_5_question(t *testing.T) {
	store := new(checkpoint.Memory)
	deep := func(c *orchestrator.Config) {
		c.Strategies["outer"] = func() strategy.Strategy {
			return &scene{
				Start: func(in delegation.Input) nextstep.NextStep {
					return nextstep.Delegate{Strategy: "solve", Input: in}
				},
				Child: func(out delegation.Output) nextstep.NextStep { return done("outer: " + out.Text()) },
			}
		}
		c.Default = "outer"
	}
	build := scriptedBy(t, stored(store), with(tools.AskUser()), deep)
	events := watched(t, build(scripted.Calls(question("Which file?", "1"))), task("go"))
	end := finished(t, events)
	require.Equal(t, machine.StatusWaiting, end.Status)
	require.Equal(t, "0.1", end.Waits[0].Frame)
	require.Equal(t, 1, count(events, machine.EventWaitStarted))
	require.Equal(t, 1, count(events, machine.EventToolStarted))
	require.Zero(t, count(events, machine.EventToolFinished))

	events = watchedOn(t, build(scripted.Text("All set.")), "r", machine.Reply{WaitID: end.Waits[0].ID, Text: "Use latest."})
	end = finished(t, events)
	require.Equal(t, "outer: All set.", end.Output.Text())
	require.Equal(t, 1, count(events, machine.EventToolFinished))
	require.Zero(t, count(events, machine.EventWaitStarted))
}

func count(events []machine.Event, kind machine.EventKind) (n int) {
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
