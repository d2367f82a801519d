package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// role says which part this program plays for a test that starts it again.
const role = "SEGUE_SQLITESTORE_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		goleak.VerifyTestMain(m)
	case "drive":
		drive(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	}
}

func open(t testing.TB, path string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func fresh(t testing.TB) *sqlitestore.Store { return open(t, filepath.Join(t.TempDir(), "runs.db")) }

func key(run string) checkpoint.Key { return checkpoint.Key{Run: run} }

// first is the batch that begins a run.
func first(run string, data ...string) checkpoint.Batch {
	b := next(run, 1, data...)
	b.Header = &checkpoint.Header{Status: checkpoint.StatusRunning, Strategy: "s"}
	return b
}

// next is a batch whose records have places from one on.
func next(run string, from int, data ...string) checkpoint.Batch {
	b := checkpoint.Batch{Key: key(run), Writer: "w", Epoch: 1}
	for i, d := range data {
		b.Records = append(b.Records, checkpoint.Record{Seq: from + i, Type: "t", Data: []byte(d)})
	}
	return b
}

// content is the data of a record: it shows whether the record is whole, and where it belongs.
func content(run string, seq int) string {
	return strings.Repeat(fmt.Sprintf("%s:%d ", run, seq), 1+seq*37%400)
}

// journal returns what is in a run, to the first error.
func journal(ctx context.Context, s checkpoint.Store, run string) (data []string, err error) {
	for r, err := range s.Read(ctx, key(run), 1) {
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

// raw does something to a file as another program can.
func raw(t testing.TB, path string, texts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, text := range texts {
		_, err = db.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	require.NoError(t, db.Close())
}

// All that a run is, is there again after the store was closed and opened.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	due := time.Date(2031, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600))
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
	require.NoError(t, err)
	b := first("r", "", "\x00\xff", "three")
	b.Records[0].Data = nil
	b.Header = &checkpoint.Header{
		Status: checkpoint.StatusWaiting, Strategy: "s", Format: 2, Version: "v1", Reason: "why\x00not",
		Waits: []checkpoint.Wait{{ID: "1", Kind: "approval"}, {ID: "2", Kind: "approval"}}, Due: due,
		Origin: checkpoint.Origin{Run: "o", Record: 3}, Labels: map[string]string{"a\x00b": "'; DROP TABLE runs; --", "": ""},
	}
	b.Lease = time.Hour
	require.NoError(t, s.Append(t.Context(), b))
	require.NoError(t, s.Post(t.Context(), checkpoint.Message{ID: "m", Key: key("r"), Data: []byte("yes")}))
	before, err := s.Head(t.Context(), key("r"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.NoFileExists(t, path+"-wal")

	s = open(t, path)
	after, err := s.Head(t.Context(), key("r"))
	require.NoError(t, err)
	require.True(t, after.Header.Due.Equal(due))
	require.Equal(t, before, after)
	before.Header.Due, b.Header.Due = due, due
	require.Equal(t, *b.Header, before.Header)
	data, err := journal(t.Context(), s, "r")
	require.NoError(t, err)
	require.Equal(t, []string{"", "\x00\xff", "three"}, data)
	posted, err := s.Posted(t.Context(), key("r"))
	require.NoError(t, err)
	require.Len(t, posted, 1)
	require.Equal(t, "yes", string(posted[0].Data))
	for name, value := range b.Header.Labels {
		page, err := s.List(t.Context(), checkpoint.Query{Labels: map[string]string{name: value}, Wait: "approval", Origin: "o", Posted: true})
		require.NoError(t, err)
		require.Len(t, page.Heads, 1)
	}
}

// The other methods of a store that is closed do nothing.
func TestClosed(t *testing.T) {
	s := fresh(t)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, s.Close())
	_, headErr := s.Head(t.Context(), key("r"))
	_, listErr := s.List(t.Context(), checkpoint.Query{})
	_, leaseErr := s.Lease(t.Context(), key("r"), "w", time.Second)
	_, postedErr := s.Posted(t.Context(), key("r"))
	_, readErr := journal(t.Context(), s, "r")
	_, snapshotErr := s.Snapshot(t.Context(), key("r"))
	for _, err := range []error{
		headErr, listErr, leaseErr, postedErr, readErr, snapshotErr, s.SaveSnapshot(t.Context(), key("r"), checkpoint.Snapshot{Records: 1}), s.Append(t.Context(), next("r", 2, "2")), s.Vacuum(t.Context()),
		s.Post(t.Context(), checkpoint.Message{ID: "m", Key: key("r")}), s.Delete(t.Context(), key("r")),
	} {
		require.ErrorIs(t, err, checkpoint.ErrClosed)
	}
}

// A run that is deleted and begun anew while it is read is never read as a mixture.
func TestRead_deletedMeanwhile(t *testing.T) {
	s := fresh(t)
	var data []string
	for i := range 1000 {
		data = append(data, fmt.Sprint("old ", i))
	}
	require.NoError(t, s.Append(t.Context(), first("r", data...)))
	var last error
	n := 0
	for r, err := range s.Read(t.Context(), key("r"), 1) {
		if last = err; err != nil {
			break
		}
		n++
		require.Contains(t, string(r.Data), "old")
		if r.Seq == 1 {
			require.NoError(t, s.Delete(t.Context(), key("r")))
			require.NoError(t, s.Append(t.Context(), first("r", make([]string, 2000)...)))
		}
	}
	require.ErrorIs(t, last, checkpoint.ErrNotFound)
	require.Less(t, n, 1000)
}
