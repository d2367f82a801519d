package pgstore_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/pgstore"
)

// All that a run is, is there again after the store was closed and opened.
func TestReopen(t *testing.T) {
	c := fresh(t)
	due := time.Date(2031, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600))
	s, err := pgstore.Open(t.Context(), c)
	require.NoError(t, err)
	b := first("r", "", "\x00\xff", "three")
	b.Records[0].Data = nil
	b.Header = &checkpoint.Header{
		Status: checkpoint.StatusWaiting, Strategy: "s", Format: 2, Version: "v1", Reason: "why\x00not",
		Waits: []checkpoint.Wait{{ID: "1", Kind: "approval"}, {ID: "2", Kind: "approval"}}, Due: due,
		Origin: checkpoint.Origin{Run: "o", Record: 3}, Labels: map[string]string{"a\x00b": "'; DROP TABLE runs; --", "": "", "long": strings.Repeat("x", 10_000)},
	}
	b.Lease = time.Hour
	require.NoError(t, s.Append(t.Context(), b))
	require.NoError(t, s.Post(t.Context(), checkpoint.Message{ID: "m", Key: key("r"), Data: []byte("yes")}))
	before, err := s.Head(t.Context(), key("r"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())

	s = open(t, c)
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

// The methods of a store that is closed do nothing.
func TestClosed(t *testing.T) {
	s := open(t, fresh(t))
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
	s := open(t, fresh(t))
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

// With one connection, a run may be written while it is read: no connection is held meanwhile.
func TestRead_oneConnection(t *testing.T) {
	c := fresh(t)
	c.Configure = func(p *pgxpool.Config) { p.MaxConns = 1 }
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("r", "1", "2", "3")))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for r, err := range s.Read(ctx, key("r"), 1) {
		require.NoError(t, err)
		require.NoError(t, s.Append(ctx, next("r", r.Seq+3, "more")))
	}
}

// What a statement cannot take is refused before it is sent.
func TestAppend_tooLarge(t *testing.T) {
	s := open(t, fresh(t))
	data := bytes.Repeat([]byte("x"), 1<<28+1)
	b := first("r")
	for i := range 2 { // the same bytes, so that the test needs few
		b.Records = append(b.Records, checkpoint.Record{Seq: 1 + i, Type: "t", Data: data})
	}
	err := s.Append(t.Context(), b)
	require.ErrorIs(t, err, checkpoint.ErrTooLarge)
	require.ErrorContains(t, err, `run "r": record 2: the data are too large for the store (keep large values elsewhere, and store their names)`)
}

// Texts that are none of the contract are refused, and the store goes on.
func TestAppend_noText(t *testing.T) {
	s := open(t, fresh(t))
	for _, text := range []string{"a\x00", "\xff"} {
		b := first("r", "1")
		b.Writer = text
		require.ErrorIs(t, s.Append(t.Context(), b), pgstore.ErrText)
		b = first("r", "1")
		b.Records[0].Type = text
		require.ErrorIs(t, s.Append(t.Context(), b), pgstore.ErrText)
	}
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.ErrorIs(t, s.Post(t.Context(), checkpoint.Message{ID: "\x00", Key: key("r")}), pgstore.ErrText)
}

// After a vacuum nothing of a deleted run is in a file of a table, and what stays is as it was.
func TestVacuum_erases(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	for _, run := range []string{"stays", "goes"} {
		b := first(run, strings.Repeat(run+" ", 100), strings.Repeat(run+" ", 10_000))
		b.Header.Labels = map[string]string{run: run}
		require.NoError(t, s.Append(t.Context(), b))
		require.NoError(t, s.Post(t.Context(), checkpoint.Message{ID: "m", Key: key(run), Data: []byte(run)}))
		for n := 1; n <= 2; n++ { // the first is written over
			snapshot := checkpoint.Snapshot{Records: n, Data: []byte(strings.Repeat(run+" ", 100*n))}
			require.NoError(t, s.SaveSnapshot(t.Context(), key(run), snapshot))
		}
	}
	require.NoError(t, s.Delete(t.Context(), key("goes")))
	require.NoError(t, s.Vacuum(t.Context()))
	const files = `SELECT coalesce(string_agg(pg_read_binary_file(pg_relation_filepath(oid)), ''), '')
		FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'i')`
	raw(t, c, "CHECKPOINT")
	found := func(text string) string {
		return ask(t, c, "SELECT (position($2::bytea IN ("+files+")) > 0)::text", c.Schema, []byte(text))
	}
	require.Equal(t, "true", found("stays"))
	require.Equal(t, "false", found("goes"))
	data, err := journal(t.Context(), s, "stays")
	require.NoError(t, err)
	require.Len(t, data, 2)
}
