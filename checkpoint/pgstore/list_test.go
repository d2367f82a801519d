package pgstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/pgstore"
	"github.com/segue-go/segue/internal/prove"
)

// epoch is when the first of many runs was created.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// waiting fills a store with waiting runs as fast as PostgreSQL can, each created a second later.
func waiting(t testing.TB, n int) *pgstore.Store {
	t.Helper()
	c := fresh(t)
	s := open(t, c)
	conn, err := pgx.Connect(t.Context(), c.URL)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	columns := []string{
		"namespace", "run", "last", "recoveries", "epoch", "created", "updated", "lease_until", "writer", "lease_writer", "header", "crc", "state", "marks", "due", "stand",
	}
	_, err = conn.CopyFrom(t.Context(), pgx.Identifier{c.Schema, "runs"}, columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
		i++ // the first one has the number 1, as its id
		at := epoch.Add(time.Duration(i) * time.Second)
		h := storetest.Waiting()
		h.Due = at.Add(time.Hour)
		if i%1000 == 0 {
			h.Labels["rare"] = "yes"
		}
		var until any
		if i%2 == 0 {
			until = time.Date(2222, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		k := key(fmt.Sprintf("run-%08d", i))
		return append(append([]any{k.Namespace, k.Run, 1, 0, 1, at, at, until, "w", "w"}, pgstore.Described(k, h)...), [16]byte{}), nil
	}))
	require.NoError(t, err)
	raw(t, c, "UPDATE runs SET stand = stand_4(namespace, run, last, epoch, recoveries, lease_writer, lease_until)")
	raw(t, c, "INSERT INTO inbox (run, at, crc, message, data) SELECT id, created, 0, 'm', '' FROM runs WHERE id % 500 = 1")
	raw(t, c, "ANALYZE runs, inbox") // as the server does by itself, a little later
	return s
}

// mostBeside is how many rows a question may read beside those of its page.
const mostBeside = 10

// rowsRead returns the greatest number of rows that a node of an explained plan reads or leaves
// out.
func rowsRead(plan string) (most int) {
	for _, found := range counted.FindAllStringSubmatch(plan, -1) {
		rows, _ := strconv.ParseFloat(found[1], 64)
		most = max(most, int(rows))
	}
	return most
}

var counted = regexp.MustCompile(`(?:actual time=\S+ rows=|Rows Removed by Filter: )([0-9.]+)`)

// Pages of 100,000 waiting runs are found without reading all of them, whatever is asked for; in
// every test run they are 20,000.
func TestList_manyRuns(t *testing.T) {
	n := prove.DepthOr(20_000, 100_000)
	s := waiting(t, n)
	storetest.List(t, s, storetest.Questions(epoch, n), func(t *testing.T, c storetest.Question) {
		plan, err := pgstore.Explained(t.Context(), s, c.Query)
		require.NoError(t, err)
		require.Regexp(t, counted, plan)
		require.LessOrEqual(t, rowsRead(plan), 2*c.Want+mostBeside, plan)
	})
}

// BenchmarkPostgreSQLList measures the first page of each question to 100,000 waiting runs.
func BenchmarkPostgreSQLList(b *testing.B) {
	const n = 100_000
	storetest.BenchmarkList(b, waiting(b, n), storetest.Questions(epoch, n))
}

// What indexes are for: none of these reads all runs.
func TestList_plans(t *testing.T) {
	s := waiting(t, 20_000)
	status := []checkpoint.Status{checkpoint.StatusWaiting}
	for _, x := range []struct {
		index string
		q     checkpoint.Query
	}{
		{"_by_time", checkpoint.Query{}},
		{"runs_of_all_by_time", checkpoint.Query{All: true}},
		{"_by_state", checkpoint.Query{Status: []checkpoint.Status{checkpoint.StatusDone}}},
		{"runs_of_all_by_state", checkpoint.Query{Status: []checkpoint.Status{checkpoint.StatusRunning}, All: true}},
		{"runs_by_due", checkpoint.Query{Status: status, Due: epoch.Add(time.Hour)}},
		{"runs_by_mark", checkpoint.Query{Labels: map[string]string{"rare": "yes"}}},
	} {
		plan, err := pgstore.Explained(t.Context(), s, x.q)
		require.NoError(t, err)
		require.Contains(t, plan, x.index)
		require.NotContains(t, plan, "Seq Scan on runs")
	}
}

// What no text or time of PostgreSQL can be is in no run.
func TestList_odd(t *testing.T) {
	s := open(t, fresh(t))
	for _, namespace := range []string{"\x00", "a\xff", "a\x00"} {
		page, err := s.List(t.Context(), checkpoint.Query{Namespace: namespace})
		require.NoError(t, err)
		require.Empty(t, page.Heads)
	}
	for _, at := range []time.Time{time.Unix(1<<45, 0), time.Unix(-1<<45, 0)} {
		_, err := s.List(t.Context(), checkpoint.Query{Updated: at, After: checkpoint.Cursor{Created: at, Key: key("\x00")}})
		require.NoError(t, err)
	}
}
