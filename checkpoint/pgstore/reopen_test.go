package pgstore_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/pgstore"
)

// With one connection, a run may be written while it is read: no connection is held meanwhile.
func TestRead_oneConnection(t *testing.T) {
	c := fresh(t)
	c.Configure = func(p *pgxpool.Config) { p.MaxConns = 1 }
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("r", "1", "2", "3")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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

// After a vacuum nothing of a deleted run is in a file of a table, once no transaction can see it,
// and what stays is as it was.
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
	reader, err := pgx.Connect(t.Context(), c.URL)
	require.NoError(t, err)
	defer reader.Close(t.Context())
	_, err = reader.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), key("goes")))
	const files = `SELECT coalesce(string_agg(pg_read_binary_file(pg_relation_filepath(oid)), ''), '')
		FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'i')`
	vacuumed := func(text string) string {
		require.NoError(t, s.Vacuum(t.Context()))
		raw(t, c, "CHECKPOINT")
		return ask(t, c, "SELECT (position($2::bytea IN ("+files+")) > 0)::text", c.Schema, []byte(text))
	}
	require.Equal(t, "true", vacuumed("stays"))
	require.Equal(t, "true", vacuumed("goes"), "the reader can see it")
	_, err = reader.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	// The server's own transactions, of autovacuum, can see it for a while, too.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for vacuumed("goes") == "true" {
		require.NoError(t, ctx.Err())
	}
	data, err := journal(t.Context(), s, "stays")
	require.NoError(t, err)
	require.Len(t, data, 2)
}
