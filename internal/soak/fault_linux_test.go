package soak

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// smallDisk mounts a disk of so many bytes, or skips the test.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("soak", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

// opened opens a store until the test closes it.
func opened(t *testing.T, name string) (store checkpoint.Store, end func()) {
	t.Helper()
	store, closer, err := openStore(t.Context(), name)
	require.NoError(t, err)
	return store, func() { require.NoError(t, closer.Close()) }
}

// fill leaves no room on a disk, and returns what makes room again.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	file, err := os.Create(path)
	require.NoError(t, err)
	for size := 1 << 16; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	require.NoError(t, file.Close())
	return func() { require.NoError(t, os.Remove(path)) }
}

// A run on a full disk is interrupted, wherever the disk becomes full, and goes on when there is
// room. What is not stored did not happen: no effect comes twice, and where one may have come, a
// person is asked.
func TestFullDisk(t *testing.T) {
	for name, full := range map[string]string{"while the model is asked": atModel, "in a call": atEffect} {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t, "4m")
			store, end := opened(t, "sqlite:"+filepath.Join(dir, "runs.db"))
			defer end()
			var empty func()
			w := &fullWorld{at: func() {
				if full == atEffect && empty == nil {
					empty = fill(t, dir)
				}
			}}
			build := func() *orchestrator.Orchestrator {
				o, err := build(store, w, payment(&plan{Run: "r"}), func(c *orchestrator.Config) {
					c.Timeouts.Store, c.Lease = 100*time.Millisecond, 100*time.Millisecond
					c.MaxToolResult = 1 << 21
					c.Repetition.Times = -1 // the text of the reply repeats itself
					c.Client = client(func(req *llmclient.Request) scripted.Reply {
						if len(req.Messages) > 1 {
							return scripted.Text("paid")
						}
						if full == atModel && empty == nil {
							empty = fill(t, dir)
						}
						r := scripted.Calls(call("c1", "pay", "r/pay"))
						r.Text = strings.Repeat("more than the log has room for ", 1<<14)
						return r
					})
				})
				require.NoError(t, err)
				return o
			}
			res, err := build().Run(t.Context(), taskOf("r"))
			require.ErrorIs(t, err, checkpoint.ErrFull)
			require.Equal(t, machine.StatusInterrupted, res.Status)
			require.Equal(t, delegation.CodeStorage, res.Output.Err.Code)
			_, err = build().Run(t.Context(), taskOf("another"))
			require.Error(t, err, "none can begin")
			before := len(w.effects)

			empty()
			time.Sleep(150 * time.Millisecond) // there was no room to give the lease up
			res, err = orchestrator.Collect(build().Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
			require.NoError(t, err)
			if full == atEffect {
				require.Equal(t, machine.StatusWaiting, res.Status)
				require.Equal(t, machine.WaitUnknown, res.Waits[0].Kind)
				reply := machine.Reply{WaitID: res.Waits[0].ID, Text: "it was paid"}
				res, err = orchestrator.Collect(build().Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: []machine.Reply{reply}}))
				require.NoError(t, err)
				require.Equal(t, 1, before)
			}
			require.Equal(t, "paid", res.Output.Text())
			require.Len(t, w.effects, 1)
		})
	}
}

// fullWorld has something happen after each effect.
type fullWorld struct {
	memoryWorld
	at func()
}

func (w *fullWorld) note(e effect) error {
	defer w.at()
	return w.memoryWorld.note(e)
}

// A run that waits on a disk that has become read-only is refused by name, and goes on as it was
// when the disk can be written again.
func TestReadOnlyDisk(t *testing.T) {
	dir := smallDisk(t, "16m")
	name := "sqlite:" + filepath.Join(dir, "runs.db")
	store, end := opened(t, name)
	begin := func(store checkpoint.Store) *orchestrator.Orchestrator {
		o, err := build(store, new(memoryWorld), func(c *orchestrator.Config) { c.Timeouts.Store = -1 })
		require.NoError(t, err)
		return o
	}
	res, err := begin(store).Run(t.Context(), taskOf("r"))
	require.NoError(t, err)
	require.Equal(t, machine.StatusWaiting, res.Status)
	end()

	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	store, closer, err := openStore(t.Context(), name)
	if err == nil { // it can be read
		replies := []machine.Reply{{WaitID: res.Waits[0].ID, Approve: true}, {WaitID: res.Waits[1].ID, Approve: true}}
		_, err = orchestrator.Collect(begin(store).Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: replies}))
		require.NoError(t, closer.Close())
	}
	require.ErrorIs(t, err, checkpoint.ErrReadOnly)

	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=16m"))
	store, end = opened(t, name)
	defer end()
	again, err := orchestrator.Collect(begin(store).Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
	require.NoError(t, err)
	require.Equal(t, res.Waits, again.Waits)
	var replies []machine.Reply
	for i := range res.Waits {
		replies = append(replies, machine.Reply{WaitID: res.Waits[i].ID, Approve: true})
	}
	res, err = orchestrator.Collect(begin(store).Resume(t.Context(), orchestrator.Resumption{Run: "r", Replies: replies}))
	require.NoError(t, err)
	require.Equal(t, "finished r", res.Output.Text())
}

// A run that has a damaged record is parked, for a reason that names the record. The others go on.
func TestDamagedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	store, end := opened(t, "sqlite:"+path)
	defer end()
	o, err := build(store, new(memoryWorld))
	require.NoError(t, err)
	for _, run := range []string{"damaged", "whole"} {
		res, err := o.Run(t.Context(), taskOf(run))
		require.NoError(t, err)
		require.Equal(t, machine.StatusWaiting, res.Status)
		for i := range res.Waits {
			require.NoError(t, o.Answer(t.Context(), checkpoint.Key{Run: run}, machine.Reply{WaitID: res.Waits[i].ID, Approve: true}))
		}
	}
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE records SET data = x'78' WHERE seq = 5 AND run = 1")
	require.NoError(t, err)
	require.NoError(t, db.Close())

	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- o.Recover(ctx, orchestrator.Recovery{Every: 10 * time.Millisecond}) }()
	head := func(run string) checkpoint.Head {
		head, err := store.Head(context.WithoutCancel(t.Context()), checkpoint.Key{Run: run})
		require.NoError(t, err)
		return head
	}
	last := head("damaged").Last
	deadline := time.Now().Add(10 * time.Second)
	stands := func() [2]checkpoint.Status {
		return [2]checkpoint.Status{head("whole").Header.Status, head("damaged").Header.Status}
	}
	want := [2]checkpoint.Status{checkpoint.StatusDone, checkpoint.StatusParked}
	for stands() != want && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
	require.Equal(t, want, stands())
	require.Contains(t, head("damaged").Header.Reason, "record 5")
	require.Equal(t, last, head("damaged").Last)
	_, err = orchestrator.Collect(o.Resume(t.Context(), orchestrator.Resumption{Run: "damaged"}))
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	var journal *orchestrator.JournalError
	require.ErrorAs(t, err, &journal)
	require.ErrorContains(t, err, `run "damaged": record 5`)
}
