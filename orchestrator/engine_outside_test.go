package orchestrator_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// A run comes to wait when the call beside the wait ends. Its snapshot is of all records.
func TestEngine_snapshot(t *testing.T) {
	store := new(checkpoint.Memory)
	grant := tools.NewRaw(tools.Definition{Name: "grant", NeedsApproval: true}, func(context.Context, string) (string, error) { return "", nil })
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("grant", "{}", "1"), scripted.Call("pay", "{}", "2"))),
		stored(store), with(grant, echo("pay")), func(c *orchestrator.Config) { c.Snapshots = true })
	s := stepsTo(t, o, begun(t, o, task("go")), "")
	require.Equal(t, machine.StatusWaiting, s.Status)
	saved, err := store.Snapshot(t.Context(), s.Key)
	require.NoError(t, err)
	require.Equal(t, s.Records, saved.Records)
}

// A note, a reply and a stop come to a run by a Continue, or by its inbox, as to the loop: the
// records are the same. A Continue whose outcome nobody heard may be repeated.
func TestEngine_toldAsTheLoop(t *testing.T) {
	build := func(store checkpoint.Store) *orchestrator.Orchestrator {
		return solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1")), scripted.Calls(scripted.Call("risky", "{}", "2")), scripted.Text("done")),
			stored(store), with(echo("risky")), approving(orchestrator.ApprovalConfig{Default: machine.AskAlways, Expires: -1}))
	}
	synctest.Test(t, func(t *testing.T) {
		byLoop, byEngine, byInbox := new(checkpoint.Memory), new(checkpoint.Memory), new(checkpoint.Memory)
		key := checkpoint.Key{Run: "r"}

		loop := build(byLoop)
		res := ran(t, loop, task("go"))
		require.NoError(t, loop.Note(t.Context(), key, "be quick"))
		second := goOn(t, loop, "r", machine.Reply{WaitID: res.Waits[0].ID, Approve: true})
		require.NoError(t, loop.Stop(t.Context(), key, "enough", false))
		require.Equal(t, machine.StatusStopped, stoppedOf(t, loop))

		o := build(byEngine)
		s := stepsTo(t, o, begun(t, o, task("go")), "")
		how := orchestrator.Continuation{After: s.Records, Notes: []string{"be quick"}, Replies: []machine.Reply{{WaitID: s.Waits[0].ID, Approve: true}}}
		s = continued(t, o, s, how)
		require.Equal(t, s, continued(t, o, s, how), "it has been heard")
		s = stepsTo(t, o, s, "")
		require.Equal(t, second.Waits, s.Waits)
		how = orchestrator.Continuation{After: s.Records, Stop: true, Reason: "enough"}
		s = continued(t, o, s, how)
		require.Equal(t, machine.StatusStopped, s.Status)
		require.Equal(t, s, continued(t, o, s, how))
		require.Equal(t, journalLines(t, byLoop, "r"), journalLines(t, byEngine, "r"))

		o = build(byInbox)
		s = stepsTo(t, o, begun(t, o, task("go")), "")
		same := continued(t, o, s, orchestrator.Continuation{Expire: true})
		require.Equal(t, s, same, "there is nothing to tell")
		require.NoError(t, o.Note(t.Context(), key, "be quick"))
		s = stepsTo(t, o, continued(t, o, s, orchestrator.Continuation{Replies: []machine.Reply{{WaitID: s.Waits[0].ID, Approve: true}}}), "")
		require.NoError(t, o.Stop(t.Context(), key, "enough", false))
		require.Equal(t, machine.StatusStopped, continued(t, o, s, orchestrator.Continuation{}).Status)
		require.Equal(t, journalLines(t, byLoop, "r"), journalLines(t, byInbox, "r"))

		var refused *machine.ReplyError
		for _, how := range []orchestrator.Continuation{{Notes: []string{"late"}}, {Replies: []machine.Reply{{WaitID: "w"}}}, {Notes: []string{" "}}} {
			_, err := o.Continue(t.Context(), key, how)
			require.ErrorAs(t, err, &refused)
		}
	})
}

// stoppedOf takes up the run r, and returns its status.
func stoppedOf(t *testing.T, o *orchestrator.Orchestrator) machine.Status {
	t.Helper()
	res, _ := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
	return res.Status
}

// A stop at once cuts off the effects in progress: they are withdrawn, and answered by their Steps,
// or by those that come later. A process that is told to end cuts one off without an answer.
func TestEngine_cutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		build := func() *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Calls(scripted.Call("slow", "{}", "1"), scripted.Call("slow", "{}", "2"))), stored(store),
				with(tools.NewRaw(tools.Definition{Name: "slow", ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
					<-ctx.Done()
					return "", ctx.Err()
				})))
		}
		o, other := build(), build()
		s := stepsTo(t, o, begun(t, o, task("go")), machine.EffectTool)
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan stepped, 1)
		step := func() {
			after, err := o.Step(ctx, s.Key, s.Effects[0].ID, s.Epoch, nil)
			ends <- stepped{standing: after, err: err}
		}
		go step()
		synctest.Wait()
		cancel()
		end := <-ends
		require.ErrorIs(t, end.err, context.Canceled)
		require.NotErrorIs(t, end.err, orchestrator.ErrNotBegun)

		ctx, cancel = context.WithCancel(t.Context())
		go step()
		synctest.Wait()
		now := continued(t, other, s, orchestrator.Continuation{Stop: true, Now: true, Reason: "enough"})
		require.Equal(t, []machine.EffectID{s.Effects[0].ID, s.Effects[1].ID}, now.Withdrawn)
		cancel()
		end = <-ends
		require.NoError(t, end.err)
		require.Empty(t, end.standing.Status)
		s, err := other.Step(t.Context(), s.Key, s.Effects[1].ID, s.Epoch, nil)
		require.NoError(t, err)
		require.Equal(t, machine.StatusStopped, s.Status)
		metas := s.Result.Output.ToolMetas()
		require.Equal(t, messages.ReasonInterrupted, metas[0].Reason)
		require.Len(t, metas, 2)
	})
}

// Waits that nobody answers, timers, and agents whose time is over, end when they are due.
func TestEngine_due(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later := tools.NewRaw(tools.Definition{Name: "later", ReadOnly: true}, func(ctx context.Context, _ string) (string, error) {
			return "it is tomorrow", tools.WaitUntil(ctx, time.Now().Add(24*time.Hour), "tomorrow")
		})
		o := solver(t, scripted.New(scripted.Calls(scripted.Call("later", "{}", "1"), scripted.Call("risky", "{}", "2")), scripted.Text("done")), stored(new(checkpoint.Memory)),
			with(later, echo("risky")), approving(orchestrator.ApprovalConfig{Tools: map[string]machine.ApprovalPolicy{"risky": machine.AskAlways}, Expires: time.Hour}))
		s := stepsTo(t, o, begun(t, o, task("go")), "")
		for _, passes := range []time.Duration{time.Hour, 23 * time.Hour} {
			require.Equal(t, machine.StatusWaiting, s.Status)
			require.WithinDuration(t, time.Now().Add(passes), s.Due, time.Second)
			require.Equal(t, s, continued(t, o, s, orchestrator.Continuation{Expire: true}), "nothing is due yet")
			time.Sleep(passes)
			s = continued(t, o, s, orchestrator.Continuation{Expire: true})
		}
		s = stepsTo(t, o, s, "")
		require.Equal(t, machine.StatusDone, s.Status)
		require.Equal(t, "it is tomorrow", s.Result.Output.ToolMetas()[0].Output)
	})
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		build := func() *orchestrator.Orchestrator {
			return solver(t, scripted.New(scripted.Calls(scripted.Call("worker", `{"goal":"x"}`, "1")), scripted.Text("done")), stored(store), func(c *orchestrator.Config) {
				c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{}), "work": completetask.New(completetask.Config{})}
				c.Default = "solve"
			}, with(worker(func(a *orchestrator.Agent) { a.Definition.Timeout = time.Minute })))
		}
		o := build()
		s := begun(t, o, task("go"))
		s, err := o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		other, err := build().Standing(t.Context(), s.Key)
		require.NoError(t, err)
		require.WithinDuration(t, s.Due, other.Due, 0, "every process knows it")
		time.Sleep(30 * time.Second)
		s = continued(t, o, s, orchestrator.Continuation{Expire: true})
		require.Equal(t, []machine.EffectID{s.Effects[0].ID}, s.Withdrawn)
		s = stepsTo(t, o, s, "")
		require.Equal(t, machine.StatusDone, s.Status)
		require.Contains(t, s.Result.Output.ToolMetas()[0].Output, "took longer than 1m0s")
	})
}

// Redact works on what another engine's runs keep. A record that it fails for parks the run.
func TestEngine_redact(t *testing.T) {
	store := new(checkpoint.Memory)
	fails := false
	o := solver(t, always(func(*llmclient.Request) scripted.Reply { return scripted.Text("secret") }), stored(store), func(c *orchestrator.Config) {
		c.Redact = func(rec machine.Record) (machine.Record, error) {
			if _, ok := rec.(machine.Answered); ok && fails {
				return nil, errDisk
			}
			return rec, nil
		}
	})
	s := begun(t, o, task("go"))
	require.Equal(t, s, begun(t, o, task("go")))
	fails = true
	_, err := o.Step(t.Context(), s.Key, s.Effects[0].ID, s.Epoch, nil)
	var unkept *orchestrator.RedactionError
	require.ErrorAs(t, err, &unkept)
	require.Equal(t, checkpoint.StatusParked, headOf(t, store, "r").Header.Status)
	fails = false
	require.Equal(t, machine.StatusDone, stepsTo(t, o, s, "").Status)
}

// A session goes on over runs of an engine, also over one that waits.
func TestEngine_session(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("one"), scripted.Calls(question("Which?", "1")), scripted.Text("three")), stored(store), with(tools.AskUser()))
	turn := func(run string) orchestrator.Standing {
		ta := orchestrator.Task{Run: run, Session: "s", Input: delegation.Input{Goal: "go " + run}}
		s := begun(t, o, ta)
		require.Equal(t, s, begun(t, o, ta))
		return stepsTo(t, o, s, "")
	}
	require.Equal(t, machine.StatusDone, turn("a").Status)
	require.Equal(t, machine.StatusWaiting, turn("b").Status)
	require.Contains(t, turn("c").Result.Output.Messages, messages.UserText("go a"))
}
