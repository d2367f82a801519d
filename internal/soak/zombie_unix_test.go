//go:build unix

package soak

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// A process is frozen for longer than its lease while it works on a run, another takes the run
// over, and the first wakes up. It appends nothing more, and no call that is neither read-only nor
// idempotent begins whose intent was not stored. A process that is frozen between the intent and
// the effect has its effect when it wakes up: so whoever takes over does not make the call again,
// but says that its outcome is unknown.
func TestZombie(t *testing.T) {
	const lease = 300 * time.Millisecond
	for name, c := range map[string]struct {
		at      string
		lease   time.Duration // of the first; negative: it has none, and is not frozen: the epoch alone guards
		unknown bool
		before  int // effects when it is frozen
		taken   int // … when it was taken over
		after   int // … when it has woken up
	}{
		"before the intent":             {atModel, lease, false, 0, 1, 1},
		"before the intent, no leases":  {atModel, -1, false, 0, 1, 1},
		"between intent and effect":     {atIntent, lease, true, 0, 0, 1},
		"between effect and its answer": {atEffect, lease, true, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := plan{Role: "pay", Store: "sqlite:" + filepath.Join(dir, "runs.db"), Dir: dir, Process: 1, Lease: c.lease, Run: "r", At: c.at}
			l := newLedger(dir)
			effects := func() int {
				l.add(t, 1)
				l.add(t, 2)
				return len(l.effects["r/pay"])
			}
			first := start(t, p)
			require.Equal(t, c.at, hear[string](t, first))
			require.Equal(t, c.before, effects())
			if c.lease > 0 {
				require.NoError(t, first.cmd.Process.Signal(syscall.SIGSTOP))
			}

			second := start(t, plan{Role: "recover", Store: p.Store, Dir: dir, Process: 2, Lease: lease, Run: "r"})
			took := hear[outcome](t, second)
			require.NoError(t, waittest.Exit(t, second.cmd))
			if c.unknown {
				require.Equal(t, machine.StatusWaiting, took.Status)
				require.Equal(t, machine.WaitUnknown, took.Waits[0].Kind)
			} else {
				require.Equal(t, machine.StatusDone, took.Status)
			}
			require.Equal(t, c.taken, effects())
			store, closer, err := openStore(t.Context(), p.Store)
			require.NoError(t, err)
			defer closer.Close()
			key := checkpoint.Key{Run: "r"}
			head, err := store.Head(t.Context(), key)
			require.NoError(t, err)

			if c.lease > 0 {
				require.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
			}
			first.goOn(t)
			woken := hear[outcome](t, first)
			require.Equal(t, machine.StatusTakenOver, woken.Status, woken.Err)
			require.NoError(t, waittest.Exit(t, first.cmd))
			require.Equal(t, c.after, effects())
			again, err := store.Head(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, head, again, "the one that woke up has changed nothing")
			require.Empty(t, l.twice)
			_, wrong := l.losses(t.Context(), store, "r")
			require.Empty(t, wrong)
			if c.unknown {
				saysItWasDone(t, store, took.Waits[0].ID)
				require.Equal(t, c.after, effects())
			}
		})
	}
}

// saysItWasDone has a run end whose call may have had its effect.
func saysItWasDone(t *testing.T, store checkpoint.Store, wait string) {
	t.Helper()
	o, err := build(store, new(memoryWorld), payment(&plan{Run: "r"}))
	require.NoError(t, err)
	reply := machine.Reply{WaitID: wait, Text: "it was done"}
	res, err := orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: []machine.Reply{reply}}))
	require.NoError(t, err)
	require.Equal(t, machine.StatusDone, res.Status)
}
