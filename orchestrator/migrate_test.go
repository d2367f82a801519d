package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/orchestrator/runs"
)

func kindsOf(events []machine.Event) (list []machine.EventKind) {
	for _, e := range events {
		list = append(list, e.Kind)
	}
	return list
}

// A run that waits three frames deep goes on with a program whose strategies have changed. Looking
// at it stores nothing; the approval that is given then is honoured once; and the program before
// refuses the run by name.
func TestMigrate(t *testing.T) {
	key, err := sealed.NewKey("k", bytes.Repeat([]byte{1}, sealed.SecretSize))
	require.NoError(t, err)
	safe, err := sealed.New(new(checkpoint.Memory), sealed.Keys{Current: key})
	require.NoError(t, err)
	for name, store := range map[string]checkpoint.Store{"memory": new(checkpoint.Memory), "sealed": safe} {
		t.Run(name, func(t *testing.T) {
			b := &bank{t: t, store: store}
			wait := b.waiting()
			before, head := b.kinds(), headOf(t, store, "r")

			_, err := resumed(t, b.program(2), "r")
			require.ErrorContains(t, err, `no strategy "planner"; known: clerk, desk, manager`)
			require.Equal(t, before, b.kinds())

			events := watchedOn(t, b.program(2, migrating), "r")
			require.Equal(t, []machine.EventKind{machine.EventMigrated, machine.EventRunResumed, machine.EventRunFinished}, kindsOf(events))
			require.Equal(t, machine.RunMigrated{From: "v1", Skipped: len(before), Open: []machine.OpenFrame{
				{Frame: "0", Strategy: "manager", State: "managing"},
				{Frame: "0.1", Strategy: "desk"},
				{Frame: "0.1.1", Strategy: "clerk", CallID: "c1", Tool: "clerk"},
			}}, events[0].Detail)
			require.Equal(t, len(before)+1, events[0].Record)
			require.Equal(t, wait, events[2].Detail.(machine.RunFinished).Waits[0].ID)
			require.Equal(t, before, b.kinds(), "looking stores nothing")
			require.Equal(t, head.Header, headOf(t, store, "r").Header)

			told := watchedOn(t, b.program(2, migrating), "r", machine.Reply{WaitID: wait, Approve: true})
			out := told[len(told)-1].Detail.(machine.RunFinished).Output
			require.Equal(t, "Pay Ada as planned: paid", out.Text())
			require.Equal(t, 2, out.Counts.ModelCalls)
			require.Equal(t, int32(1), b.paid.Load())
			require.Equal(t, []string{"migrated", "resumed", "replied", "intended", "answered"}, b.kinds()[len(before):])

			replayed, err := all(t, b.program(2).Replay(t.Context(), checkpoint.Key{Run: "r"}))
			require.NoError(t, err)
			require.Equal(t, kindsOf(told), kindsOf(replayed))
			_, err = all(t, b.program(1).Replay(t.Context(), checkpoint.Key{Run: "r"}))
			refused, ok := errors.AsType[*machine.SnapshotError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "manager", refused.Strategy)
			_, err = resumed(t, b.program(1), "r")
			require.ErrorContains(t, err, `frame 0: strategy "manager": it cannot be made`)
		})
	}
}

// Wherever the process dies that has carried a run over, another one goes on: the call is made
// once, or somebody is told that it may have been made.
func TestMigrate_cutAnywhere(t *testing.T) {
	b := &bank{t: t, store: new(checkpoint.Memory)}
	wait := b.waiting()
	from := len(b.kinds())
	watchedOn(t, b.program(2, migrating), "r", machine.Reply{WaitID: wait, Approve: true})
	kinds := b.kinds()
	for cut := from; cut < len(kinds); cut++ {
		left := b.left(cut)
		events := watchedOn(t, left.program(2, migrating), "r")
		end := events[len(events)-1].Detail.(machine.RunFinished)
		asked := slices.Contains(kinds[:cut], "replied")
		if !asked {
			require.Equal(t, wait, end.Waits[0].ID, "after %d records", cut)
			require.Zero(t, left.paid.Load())
		}
		if end.Status == machine.StatusWaiting {
			if slices.Contains(kinds[:cut], "intended") && asked && kinds[cut-1] != "replied" {
				require.Equal(t, machine.WaitUnknown, end.Waits[0].Kind)
			}
			events = watchedOn(t, left.program(2, migrating), "r", machine.Reply{WaitID: end.Waits[0].ID, Approve: true})
			end = events[len(events)-1].Detail.(machine.RunFinished)
		}
		require.Equal(t, "Pay Ada as planned: paid", end.Output.Text(), "after %d records", cut)
		require.Equal(t, int32(1), left.paid.Load())
		migrated := 0
		for _, kind := range left.kinds() {
			if kind == "migrated" {
				migrated++
			}
		}
		require.Equal(t, 1, migrated)
	}
}

// What cannot be carried over stays as it is, and the error has both reasons.
func TestMigrate_refuses(t *testing.T) {
	migrate := func(f func(*machine.Snapshot) error) func(*orchestrator.Config) {
		return func(c *orchestrator.Config) { c.Migrate = f }
	}
	for name, test := range map[string]struct {
		edit func(*orchestrator.Config)
		want string
	}{
		"error":      {migrate(func(*machine.Snapshot) error { return errors.New("not this one") }), "cannot be carried over the change: Config.Migrate: not this one"},
		"panic":      {migrate(func(*machine.Snapshot) error { panic("no") }), "Config.Migrate: panicked with a string"},
		"unchanged":  {migrate(func(*machine.Snapshot) error { return nil }), `the snapshot of run "r", frame 0: strategy "planner": it cannot be made`},
		"other run":  {migrate(func(s *machine.Snapshot) error { s.Started.Run = "s"; return nil }), "its snapshot is of another run, or of other records"},
		"fewer":      {migrate(func(s *machine.Snapshot) error { s.Records--; return nil }), "its snapshot is of another run, or of other records"},
		"same table": {migrate(func(s *machine.Snapshot) error { s.Frames[0].Strategy = "manager"; return nil }), "the strategy has changed, and Config.Migrate has not carried this frame over"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bank{t: t, store: new(checkpoint.Memory)}
			b.waiting()
			before, head := b.kinds(), headOf(t, b.store, "r")
			events, err := resumed(t, b.program(2, test.edit), "r")
			require.Len(t, events, 1)
			require.Empty(t, events[0].Kind)
			require.ErrorContains(t, err, `no strategy "planner"`)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, before, b.kinds())
			require.Equal(t, head.Header, headOf(t, b.store, "r").Header)
		})
	}

	b := &bank{t: t, store: new(checkpoint.Memory)}
	b.waiting(func(c *orchestrator.Config) { c.Snapshots = false })
	_, err := resumed(t, b.program(2, migrating), "r")
	require.ErrorContains(t, err, "there is no snapshot of it")

	b = &bank{t: t, store: new(checkpoint.Memory)}
	b.waiting()
	require.NoError(t, b.program(1).Note(t.Context(), checkpoint.Key{Run: "r"}, "well"))
	watchedOn(t, b.program(1, func(c *orchestrator.Config) { c.Snapshots = false }), "r")
	_, err = resumed(t, b.program(2, migrating), "r")
	require.ErrorContains(t, err, "and it has")

	_, err = orchestrator.New(orchestrator.Config{Snapshots: true})
	require.ErrorContains(t, err, "orchestrator: Snapshots: needs a Store that is a checkpoint.SnapshotStore")
	_, err = orchestrator.New(orchestrator.Config{Migrate: func(*machine.Snapshot) error { return nil }})
	require.ErrorContains(t, err, "orchestrator: Migrate: needs a Store")
}

// Recover parks a run that cannot be carried over, with the reason; a version that can goes on with
// it, and with the approval that was given meanwhile.
func TestMigrate_recover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bank{t: t, store: new(checkpoint.Memory)}
		wait := b.waiting()
		require.NoError(t, b.program(2).Answer(t.Context(), checkpoint.Key{Run: "r"}, machine.Reply{WaitID: wait, Approve: true}))
		recoverFor(t, time.Minute, b.program(2), orchestrator.Recovery{})
		head := headOf(t, b.store, "r")
		require.Equal(t, checkpoint.StatusParked, head.Header.Status)
		require.Contains(t, head.Header.Reason, `no strategy "planner"`)
		require.Zero(t, b.paid.Load())

		next := recoverFor(t, time.Minute, b.program(2, migrating, func(c *orchestrator.Config) { c.Version = "v2.1" }), orchestrator.Recovery{})
		require.Equal(t, "Pay Ada as planned: paid", next.end("r").Output.Text())
		require.Equal(t, int32(1), b.paid.Load())
	})
}

// A fork of a migrated run has its beginning in common with it, what its code cannot fold included.
// Before the migration there can be none.
func TestMigrate_fork(t *testing.T) {
	b := &bank{t: t, store: new(checkpoint.Memory)}
	wait := b.waiting()
	from := len(b.kinds())
	o := b.program(2, migrating)
	watchedOn(t, o, "r", machine.Reply{WaitID: wait, Approve: true})
	_, err := runs.Fork(t.Context(), o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: from, Run: "f"})
	refused, ok := errors.AsType[*runs.Error](err)
	require.True(t, ok)
	require.ErrorContains(t, refused, `no strategy "planner"`)

	head := fork(t, o, runs.ForkConfig{From: checkpoint.Key{Run: "r"}, At: from + 2, Run: "f"})
	require.Equal(t, checkpoint.StatusWaiting, head.Header.Status)
	require.NotEqual(t, wait, head.Header.Waits[0].ID)
	events := watchedOn(t, o, "f", machine.Reply{WaitID: head.Header.Waits[0].ID, Approve: true})
	require.Equal(t, "Pay Ada as planned: paid", events[len(events)-1].Detail.(machine.RunFinished).Output.Text())
	require.Equal(t, int32(2), b.paid.Load())
}

// full is a store that keeps no snapshots.
type full struct{ *checkpoint.Memory }

func (full) SaveSnapshot(context.Context, checkpoint.Key, checkpoint.Snapshot) error {
	return errors.New("the disk is full")
}

// A snapshot that cannot be saved does not end the run; it is told.
func TestSnapshots_failing(t *testing.T) {
	b := &bank{t: t, store: full{new(checkpoint.Memory)}}
	events := watched(t, b.program(1), task("Pay Ada"))
	last := events[len(events)-2]
	require.Equal(t, machine.SnapshotFailed{Error: "the disk is full"}, last.Detail)
	require.Equal(t, machine.StatusWaiting, events[len(events)-1].Detail.(machine.RunFinished).Status)
}
