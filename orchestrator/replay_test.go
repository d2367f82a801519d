package orchestrator_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// fromMachine are the events that a Machine has told, without the times that a loop gives them.
func fromMachine(events []machine.Event) (list []machine.Event) {
	for _, e := range events {
		if e.Index > 0 {
			e.Time = time.Time{}
			list = append(list, e)
		}
	}
	return list
}

// A run is replayed as it was told, in two processes and over a wait, with no model, no tool and
// nothing stored. The error of a run comes with its last event.
func TestReplay(t *testing.T) {
	store := new(checkpoint.Memory)
	build := scriptedBy(t, stored(store), with(tools.AskUser()))
	told := watched(t, build(scripted.Calls(question("Which?", "1"))), task("go"))
	key := checkpoint.Key{Run: "r"}
	head := headOf(t, store, "r")

	reader := build()
	again, err := all(t, reader.Replay(t.Context(), key))
	require.NoError(t, err)
	require.Equal(t, fromMachine(told), fromMachine(again), "what there is of a run that waits")
	for i := 1; i < len(again); i++ {
		require.False(t, again[i].Time.Before(again[i-1].Time))
	}
	require.Equal(t, head, headOf(t, store, "r"), "nobody was disturbed")

	wait := finished(t, told).Waits[0].ID
	more, err := resumed(t, build(scripted.Error(&llmclient.Error{Code: llmclient.CodeAuth, Message: "who are you"})), "r", machine.Reply{WaitID: wait, Text: "that"})
	require.Error(t, err, "the model is not there")
	again, replayed := all(t, reader.Replay(t.Context(), key))
	require.Equal(t, fromMachine(append(told, more...)), fromMachine(again))
	require.EqualError(t, replayed, err.Error())
	require.Equal(t, machine.StatusFailed, finished(t, again).Status)
}

// What cannot be replayed is said by name.
func TestReplay_refuses(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("done")), stored(store))
	ran(t, o, task("go"))
	_, err := all(t, o.Replay(t.Context(), checkpoint.Key{Run: "nobody"}))
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = all(t, o.Replay(t.Context(), checkpoint.Key{}))
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = all(t, solver(t, scripted.New()).Replay(t.Context(), checkpoint.Key{Run: "r"}))
	require.ErrorAs(t, err, new(*orchestrator.ConfigError))

	other := solver(t, scripted.New(), stored(store), func(c *orchestrator.Config) {
		c.Strategies["sub"] = c.Strategies["solve"]
		c.Strategies["solve"] = func() strategy.Strategy { return &scene{Start: delegates} }
	})
	_, err = all(t, other.Replay(t.Context(), checkpoint.Key{Run: "r"}))
	replay := new(machine.ReplayError)
	require.ErrorAs(t, err, &replay)
	require.Equal(t, 2, replay.Record)
	require.Contains(t, replay.Diff(), "- model of frame 0 (effect 1")
	require.Contains(t, replay.Diff(), "\n+ ")

	_, err = all(t, other.Resume(t.Context(), resuming("r")))
	require.ErrorAs(t, err, &replay)
	require.Positive(t, replay.Epoch)
	require.ErrorContains(t, err, "record 2, step 1, epoch ")
}

// Without the tool of a recorded call, a replay differs from the journal, which is not damaged: the
// error names the recorded step, and the step that the strategy asks for now.
func TestReplay_toolRemoved(t *testing.T) {
	store := new(checkpoint.Memory)
	var runs atomic.Int32
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("risky", "{}", "1"))), stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{}))
	ran(t, o, task("go"))

	without := solver(t, scripted.New(), stored(store), with(counted("risky", &runs)), approving(orchestrator.ApprovalConfig{}), func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"solve": completetask.New(completetask.Config{Tools: []string{}})}
	})
	_, replayed := all(t, without.Replay(t.Context(), checkpoint.Key{Run: "r"}))
	_, resumed := all(t, without.Resume(t.Context(), resuming("r")))
	for _, err := range []error{replayed, resumed} {
		replay := new(machine.ReplayError)
		require.ErrorAs(t, err, &replay)
		require.Contains(t, replay.Diff(), "- tool risky of frame 0 (effect 2/1")
		require.Contains(t, replay.Diff(), "\n+ model of frame 0 (effect 3")
	}
	require.Zero(t, runs.Load())
}

// A run whose task has brought its strategy is read, forked and imported where Config.Factory knows
// it.
func TestReplay_factory(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Text("done")), stored(store))
	told := watched(t, o, orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "go"}, Factory: completetask.New(completetask.Config{System: "own"})})
	_, err := all(t, o.Replay(t.Context(), checkpoint.Key{Run: "r"}))
	require.ErrorAs(t, err, new(*orchestrator.FactoryError))
	_, err = runs.Fork(t.Context(), o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}})
	require.ErrorAs(t, err, new(*orchestrator.FactoryError))

	file := exported(t, o, keyOfRun)
	_, err = runs.Import(t.Context(), solver(t, scripted.New(), stored(new(checkpoint.Memory))), strings.NewReader(file))
	require.ErrorAs(t, err, new(*orchestrator.FactoryError))
	knows := func(c *orchestrator.Config) {
		c.Factory = func(h checkpoint.Head) func() strategy.Strategy {
			require.Equal(t, "task", h.Header.Strategy)
			return completetask.New(completetask.Config{System: "own"})
		}
	}
	o = solver(t, scripted.New(), stored(store), knows)
	_, err = runs.Import(t.Context(), solver(t, scripted.New(), stored(new(checkpoint.Memory)), knows), strings.NewReader(file))
	require.NoError(t, err)
	again, err := all(t, o.Replay(t.Context(), checkpoint.Key{Run: "r"}))
	require.NoError(t, err)
	require.Equal(t, fromMachine(told), fromMachine(again))
	fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}})
}
