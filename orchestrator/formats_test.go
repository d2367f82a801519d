package orchestrator_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// The golden file is what stores keep of messages to runs: what stands in an inbox must be read by
// every later version.
func TestInbox_golden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the id of a wait says when it expires
		const golden = "testdata/postings.golden"
		store := new(ledger)
		w := waitingRun(t, store)
		o := goingOn(t, store)
		require.NoError(t, o.Answer(t.Context(), keyOfRun, machine.Reply{WaitID: w.ID, Approve: true, Text: "go on", Reason: "it is cheap"}))
		require.NoError(t, o.Note(t.Context(), keyOfRun, "a note"))
		require.NoError(t, o.Stop(t.Context(), keyOfRun, "enough", false))
		require.NoError(t, o.Stop(t.Context(), keyOfRun, "", true))
		posted, err := store.Memory.Posted(t.Context(), keyOfRun)
		require.NoError(t, err)
		var text []byte
		for _, m := range posted {
			text = append(append(text, m.Data...), '\n')
		}
		if *rewrite {
			require.NoError(t, os.WriteFile(golden, text, 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text))

		effects := [][]string{{"replied", "answered"}, {"noted"}, {"stopped"}, {"stopped"}}
		for i, line := range bytes.Split(bytes.TrimSpace(want), []byte("\n")) {
			store := new(ledger)
			waitingRun(t, store)
			require.NoError(t, store.Post(t.Context(), checkpoint.Message{ID: "1", Key: keyOfRun, Data: line}))
			_, _ = orchestrator.Collect(goingOn(t, store, scripted.Text("done")).Resume(t.Context(), resuming("r")))
			require.Subset(t, recordTypes(t, store), effects[i], "%s", line)
			require.Empty(t, store.inbox(t))
		}
	})
}

// journalOf makes a run whose records have another format.
func journalOf(t *testing.T, format int, record string) *checkpoint.Memory {
	t.Helper()
	store := new(checkpoint.Memory)
	require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
		Key: keyOfRun, Writer: "dead", Epoch: 1, Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: []byte(record)}},
		Header: &checkpoint.Header{Status: checkpoint.StatusRunning, Strategy: "solve", Format: format},
	}))
	return store
}

// A journal of another format is refused with a typed error that names both formats, and says what
// can be done; nothing in it changes. A Recover without a version leaves one of a later format
// alone, and parks an earlier one: no program that is here will ever read it.
func TestResume_ofAnotherFormat(t *testing.T) {
	for format, record := range map[int]string{
		1: `{"v":1,"type":"start","at":"2026-03-04T05:06:07Z","start":{"strategy":"solve"}}`,
		3: `{"v":3,"type":"started","at":"2026-03-04T05:06:07Z","run":"r","strategy":"solve","news":true}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			store := journalOf(t, format, record)
			o := solver(t, scripted.New(), stored(store))
			_, err := orchestrator.Collect(o.Resume(t.Context(), resuming("r")))
			var other *machine.VersionError
			require.ErrorAs(t, err, &other)
			require.Equal(t, format, other.Version)
			require.ErrorContains(t, err, fmt.Sprintf("in format %d, and this one reads format 2: go on with the version that wrote it", format))
			before := headOf(t, store, "r")
			recoverFor(t, time.Hour, o, orchestrator.Recovery{})
			head := headOf(t, store, "r")
			require.Equal(t, []string{"started"}, recordTypes(t, store))
			if format > machine.RecordVersion {
				require.Equal(t, before, head)
				return
			}
			require.Equal(t, checkpoint.StatusParked, head.Header.Status)
			require.Contains(t, head.Header.Reason, "in format 1")
		})
	}
}

// In a rolling deployment the older program parks a run of the newer one, which it cannot read, and
// names the version that can; the newer one then goes on with it. Where both have the same version
// the older leaves it alone: parked, it would be lost to both.
func TestRecover_parksARunOfANewerFormat(t *testing.T) {
	const record = `{"v":3,"type":"started","at":"2026-03-04T05:06:07Z","run":"r","strategy":"solve","news":true}`
	for _, test := range []struct {
		older, newer string
		status       checkpoint.Status
		parks        bool
	}{
		{"1", "2", checkpoint.StatusRunning, true},
		{"1", "", checkpoint.StatusRunning, true},
		{"", "2", checkpoint.StatusRunning, false},
		{"2", "2", checkpoint.StatusRunning, false},
		{"1", "2", checkpoint.StatusParked, false},
		{"1", "2", checkpoint.StatusDone, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := new(checkpoint.Memory)
			due := time.Now().Add(time.Hour)
			require.NoError(t, store.Append(t.Context(), checkpoint.Batch{
				Key: keyOfRun, Writer: "dead", Epoch: 1, Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: []byte(record)}},
				Header: &checkpoint.Header{
					Status: test.status, Strategy: "solve", Format: 3, Version: test.newer, Labels: map[string]string{"a": "b"}, Due: due,
				},
			}))
			before := headOf(t, store, "r")
			asked := false
			r := startRecover(t, solver(t, scripted.New(), stored(store), version(test.older)), orchestrator.Recovery{
				Factory: func(checkpoint.Head) func() strategy.Strategy { asked = true; return nil },
			})
			time.Sleep(2 * time.Hour)
			_ = r.stop()
			head := headOf(t, store, "r")
			require.False(t, asked)
			if !test.parks {
				require.Equal(t, before, head)
				return
			}
			want := before.Header
			want.Status, want.Version, want.Reason = checkpoint.StatusParked, test.older, head.Header.Reason
			require.Equal(t, want, head.Header)
			require.Contains(t, head.Header.Reason, fmt.Sprintf("version %q of the program wrote it", test.newer))
			require.Contains(t, head.Header.Reason, "format 3")
			require.Equal(t, before.Last, head.Last)
			require.Zero(t, head.Lease)
			require.LessOrEqual(t, head.Epoch, before.Epoch+2, "it was parked once")
		})
	}
}
