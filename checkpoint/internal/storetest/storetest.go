// Package storetest is what the tests of the stores that keep runs in tables have in common.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
)

// Store is a store with all abilities.
type Store interface {
	checkpoint.Store
	checkpoint.Lister
	checkpoint.Inbox
	checkpoint.Leaser
	checkpoint.Pruner
	checkpoint.SnapshotStore
	checkpoint.ValueStore
	io.Closer
}

// Key is that of a run without a namespace.
func Key(run string) checkpoint.Key { return checkpoint.Key{Run: run} }

// First is the batch that begins a run.
func First(run string, data ...string) checkpoint.Batch {
	b := Next(run, 1, data...)
	b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning, Strategy: "s"}
	return b
}

// Next is a batch whose records have places from one on.
func Next(run string, from int, data ...string) checkpoint.Batch {
	b := checkpoint.Batch{Key: Key(run), Writer: "w", Epoch: 1}
	for i, d := range data {
		b.Records = append(b.Records, checkpoint.Record{Seq: from + i, Type: "t", Data: []byte(d)})
	}
	return b
}

// Content is the data of a record: it shows whether the record is whole, and where it belongs.
func Content(run string, seq int) string {
	return strings.Repeat(fmt.Sprintf("%s:%d ", run, seq), 1+seq*37%400)
}

// Journal returns what is in a run, to the first error.
func Journal(ctx context.Context, s checkpoint.Store, run string) (data []string, err error) {
	for r, err := range s.Read(ctx, Key(run), 1) {
		if err != nil {
			return data, err
		}
		if r.Seq != len(data)+1 {
			return data, fmt.Errorf("record %d stands at %d", r.Seq, len(data)+1)
		}
		data = append(data, string(r.Data))
	}
	return data, nil
}

// AtOnce opens a place that is not there yet many times at once: all get it.
func AtOnce(t *testing.T, open func() (Store, error)) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		all.Go(func() {
			s, err := open()
			if err == nil {
				err = errors.Join(s.Append(t.Context(), First(fmt.Sprint("r", i), "1")), s.Close())
			}
			errs[i] = err
		})
	}
	waittest.All(t, &all)
	require.NoError(t, errors.Join(errs...))
}

// Newer checks that a program that knows fewer migrations changes nothing more once a newer one has
// changed the place, in which is a run r of one record, and does not open it.
func Newer(t *testing.T, old, newer Store, reopen func() error) {
	t.Helper()
	var want *checkpoint.Error
	require.ErrorAs(t, old.Append(t.Context(), Next("r", 2, "2")), &want)
	require.ErrorIs(t, want, checkpoint.ErrNewer)
	require.ErrorIs(t, old.Post(t.Context(), checkpoint.Message{ID: "m", Key: Key("r")}), checkpoint.ErrNewer)
	_, err := old.Lease(t.Context(), Key("r"), "w", time.Hour)
	require.ErrorIs(t, err, checkpoint.ErrNewer)
	require.ErrorIs(t, old.Delete(t.Context(), Key("r")), checkpoint.ErrNewer)
	err = reopen()
	require.Equal(t, want, err)
	require.EqualError(t, err, want.Store+": "+want.Place+": a newer program has changed the store: its schema has version 5, and this program knows versions up to 4 (run the newer program, or open another place)")
	data, err := Journal(t.Context(), newer, "r")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, data)
}

// Fill puts into an empty store what [Old] and [Migrated] find there.
func Fill(t *testing.T, s Store) {
	t.Helper()
	require.NoError(t, s.Append(t.Context(), First("runs", `{"record":1}`)))
	b := First("waits", `{"record":1}`)
	b.Header.Status, b.Header.Labels = checkpoint.StatusWaiting, map[string]string{"team": "red"}
	b.Header.Waits, b.Header.Origin = []checkpoint.Wait{{ID: "1", Kind: "approval"}}, checkpoint.Origin{Run: "runs", Record: 1}
	b.Header.Due, b.Lease = time.Date(2031, 2, 3, 4, 5, 6, 7, time.UTC), time.Hour
	require.NoError(t, s.Append(t.Context(), b))
	require.NoError(t, s.Append(t.Context(), Next("waits", 2, `{"record":2}`)))
	require.NoError(t, s.Post(t.Context(), checkpoint.Message{ID: "m", Key: Key("waits"), Data: []byte("yes")}))
}

// Old checks a store that an older program has filled: the query finds what waits, whose head it
// returns, and the store has all that later versions have.
func Old(t *testing.T, s Store, q checkpoint.Query) checkpoint.Head {
	t.Helper()
	data, err := Journal(t.Context(), s, "waits")
	require.NoError(t, err)
	require.Equal(t, []string{`{"record":1}`, `{"record":2}`}, data)
	page, err := s.List(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, page.Heads, 1)
	h := page.Heads[0]
	require.Equal(t, "s", h.Header.Strategy)
	require.Equal(t, checkpoint.StatusWaiting, h.Header.Status)
	require.EqualValues(t, 1, h.Epoch)
	require.Equal(t, 2, h.Last)
	require.True(t, h.Updated.After(h.Created))
	posted, err := s.Posted(t.Context(), Key("waits"))
	require.NoError(t, err)
	require.Equal(t, "yes", string(posted[0].Data))
	require.NoError(t, s.Append(t.Context(), Next("waits", 3, "3")))
	require.NoError(t, s.Append(t.Context(), First("new", "1")))

	_, err = s.Snapshot(t.Context(), Key("waits"))
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	want := checkpoint.Snapshot{Records: 2, Data: []byte("state")}
	require.NoError(t, s.SaveSnapshot(t.Context(), Key("waits"), want))
	got, err := s.Snapshot(t.Context(), Key("waits"))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, s.PutValue(t.Context(), Key("waits"), "v", []byte("a large value")))
	part, size, err := s.ReadValue(t.Context(), Key("waits"), "v", 2, 5)
	require.NoError(t, err)
	require.Equal(t, "large", string(part))
	require.EqualValues(t, 13, size)
	return h
}

// Migrated checks a store of the first version, in which the head of one run was damaged before it
// got checksums of where runs stand: it stays damaged. damage then changes where another stands.
func Migrated(t *testing.T, s Store, damage func()) {
	t.Helper()
	head, err := s.Head(t.Context(), Key("waits"))
	require.NoError(t, err)
	require.Equal(t, 2, head.Last)
	_, err = s.Head(t.Context(), Key("runs"))
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.NoError(t, s.Append(t.Context(), Next("waits", 3, "3")))
	damage()
	_, err = Journal(t.Context(), s, "waits")
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
}
