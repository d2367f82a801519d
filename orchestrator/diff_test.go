package orchestrator_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// changed is an Orchestrator whose strategy is another one than when the runs were recorded.
func changed(t *testing.T, store checkpoint.Store, solve func() strategy.Strategy) *orchestrator.Orchestrator {
	t.Helper()
	return solver(t, scripted.New(), stored(store), with(echo("look")), func(c *orchestrator.Config) {
		c.Strategies["sub"] = c.Strategies["solve"]
		c.Strategies["solve"] = solve
	})
}

// recordedRun stores the run r: a model call, a tool call, and the answer.
func recordedRun(t *testing.T) *checkpoint.Memory {
	t.Helper()
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Calls(scripted.Call("look", "{}", "1")), scripted.Text("done")), stored(store), with(echo("look")))
	ran(t, o, task("go"))
	return store
}

// The same strategies decide alike; other words are told as such, and another decision is found
// behind them.
func TestDiff(t *testing.T) {
	store := recordedRun(t)
	key := checkpoint.Key{Run: "r"}
	diff := func(solve func() strategy.Strategy) *runs.Difference {
		t.Helper()
		d, err := runs.Diff(t.Context(), changed(t, store, solve), key)
		require.NoError(t, err)
		return d
	}
	require.Nil(t, diff(completetask.New(completetask.Config{})))

	d := diff(completetask.New(completetask.Config{System: "Be brief."}))
	require.True(t, d.Worded)
	require.Equal(t, []any{"r", 2, 1, "0"}, []any{d.Run, d.Record, d.Seq, d.Frame})
	require.NotEqual(t, d.Recorded.Digest, d.Now.Digest)
	require.Equal(t, machine.EffectModel, d.Now.Kind)
	require.Contains(t, fmt.Sprint(d.Effect.Step.(nextstep.GetChatCompletion).Request.Messages[0]), "Be brief.")
	require.Regexp(t, `^run "r", record 2, step 1 of frame 0, in other words\n- model of frame 0 \(effect 1, digest \w{8}\)\n\+ model of frame 0 \(effect 1, digest \w{8}\)$`, d.String())

	d = diff(func() strategy.Strategy { return &scene{Start: delegates} })
	require.False(t, d.Worded)
	require.Equal(t, 2, d.Record)
	require.Equal(t, "0.1", d.Now.Frame)
	require.Contains(t, d.Error(), `orchestrator: run "r", record 2, step 1 of frame 0: recorded: model of frame 0`)

	d = diff(func() strategy.Strategy { // it asks, and is content with that
		return &scene{
			Start: func(delegation.Input) nextstep.NextStep { return ask("x", "look") },
			Reply: func(llmclient.Response) nextstep.NextStep { return done("enough") },
		}
	})
	require.Equal(t, machine.StatusDone, d.Now.Ended)
	require.Equal(t, "look", d.Recorded.Tool)
	require.Contains(t, d.String(), "\n+ the run ends: done")
	require.Len(t, recordsIn(t, store, "r"), headOf(t, store, "r").Last, "nothing is stored")
}

// A run that has ended, and would go on now, decides otherwise; so does one that would end in
// another way.
func TestDiff_end(t *testing.T) {
	store := new(checkpoint.Memory)
	ran(t, solver(t, scripted.New(scripted.Text("done")), stored(store)), task("go"))
	first := func(delegation.Input) nextstep.NextStep { return ask("x") }
	d, err := runs.Diff(t.Context(), changed(t, store, func() strategy.Strategy {
		return &scene{Start: first, Reply: func(llmclient.Response) nextstep.NextStep { return ask("and what else?") }}
	}), checkpoint.Key{Run: "r"})
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, d.Recorded.Ended)
	require.Equal(t, machine.EffectModel, d.Now.Kind)
	require.Equal(t, 2, d.Now.Effect.Seq)
	require.Contains(t, d.String(), "- the run ends: done\n+ model of frame 0")

	d, err = runs.Diff(t.Context(), changed(t, store, func() strategy.Strategy {
		return &scene{Start: first, Reply: func(llmclient.Response) nextstep.NextStep {
			return nextstep.ReportError{Err: errors.New("no")}
		}}
	}), checkpoint.Key{Run: "r"})
	require.NoError(t, err)
	require.Equal(t, machine.StatusFailed, d.Now.Ended)
	require.Contains(t, d.String(), "- the run ends: done\n+ the run ends: failed")
}

// A reply fits no question that is asked in other words: that is said, with the record.
func TestDiff_question(t *testing.T) {
	store := new(checkpoint.Memory)
	o := solver(t, scripted.New(scripted.Calls(question("Which?", "1")), scripted.Text("done")), stored(store), with(tools.AskUser()))
	res := ran(t, o, task("go"))
	goOn(t, o, "r", machine.Reply{WaitID: res.Waits[0].ID, Text: "that"})
	gone := solver(t, scripted.New(), stored(store), func(c *orchestrator.Config) {
		c.Strategies = strategy.Set{"other": completetask.New(completetask.Config{})}
	})
	d, err := runs.Diff(t.Context(), gone, checkpoint.Key{Run: "r"})
	require.NoError(t, err)
	require.Equal(t, 1, d.Record)
	require.Contains(t, d.Problem, `the record is "started"`)
	require.Contains(t, d.Problem, `no strategy "solve"`)
}

// Over a whole store: how many runs would be decided otherwise, page by page, past one that cannot
// be read.
func TestDiffs(t *testing.T) {
	store := new(checkpoint.Memory)
	replies := make([]scripted.Reply, 7)
	for i := range replies {
		replies[i] = scripted.Text("done")
	}
	o := solver(t, scripted.New(replies...), stored(store))
	for i := range replies {
		ran(t, o, orchestrator.Task{Run: fmt.Sprint("r", i), Input: delegation.Input{Goal: "go"}})
	}
	require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
		Key: checkpoint.Key{Run: "broken"}, Header: new(checkpoint.Header), Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: []byte("{")}},
	}))
	other, same, broken := 0, 0, 0
	count := func(o *orchestrator.Orchestrator) {
		t.Helper()
		other, same, broken = 0, 0, 0
		for c, err := range runs.Diffs(t.Context(), o, checkpoint.Query{Limit: 2}) {
			switch {
			case err != nil:
				require.Equal(t, "broken", c.Head.Key.Run)
				require.ErrorAs(t, err, new(*orchestrator.JournalError))
				broken++
			case c.Difference != nil:
				other++
			default:
				same++
			}
		}
	}
	count(changed(t, store, completetask.New(completetask.Config{})))
	require.Equal(t, []int{0, 7, 1}, []int{other, same, broken})
	count(changed(t, store, func() strategy.Strategy { return &scene{Start: delegates} }))
	require.Equal(t, []int{7, 0, 1}, []int{other, same, broken})
	for _, err := range runs.Diffs(t.Context(), solver(t, scripted.New(), stored(storeOnly{store})), checkpoint.Query{}) {
		require.ErrorAs(t, err, new(*orchestrator.ConfigError))
	}
}

// The positions of events are the same for a reader whose prompts have changed.
func TestReplay_positionsOfDriftedRun(t *testing.T) {
	store := recordedRun(t)
	positions := func(o *orchestrator.Orchestrator) (list []orchestrator.Position, drifted int) {
		t.Helper()
		for e, err := range o.Replay(t.Context(), checkpoint.Key{Run: "r"}) {
			require.NoError(t, err)
			if e.Kind == machine.EventDrifted {
				drifted++
				continue
			}
			list = append(list, orchestrator.PositionOf(e))
		}
		return list, drifted
	}
	want, drifted := positions(changed(t, store, completetask.New(completetask.Config{})))
	require.Zero(t, drifted)
	got, drifted := positions(changed(t, store, completetask.New(completetask.Config{System: "Be brief."})))
	require.Equal(t, 1, drifted)
	require.Equal(t, want, got)
}
