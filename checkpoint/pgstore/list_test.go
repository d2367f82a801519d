package pgstore_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
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
		at := epoch.Add(time.Duration(i) * time.Second)
		h := &checkpoint.Header{
			Status: checkpoint.StatusWaiting, Strategy: "complete_task", Format: 2, Version: "v0.3.0", Due: at.Add(time.Hour),
			Waits: []checkpoint.Wait{{ID: "1", Kind: "approval"}}, Labels: map[string]string{"team": "red"},
		}
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
	raw(t, c, "INSERT INTO inbox (run, at, crc, message, data) SELECT id, created, 0, 'm', '' FROM runs WHERE id % 500 = 0")
	raw(t, c, "ANALYZE runs, inbox") // as the server does by itself, a little later
	return s
}

// questions are queries, and how many runs the first page of each has, of n runs.
func questions(n int) map[string]question {
	status := []checkpoint.Status{checkpoint.StatusWaiting}
	red := map[string]string{"team": "red"}
	after := func(i int) time.Time { return epoch.Add(time.Duration(i) * time.Second) }
	return map[string]question{
		"all":                   {checkpoint.Query{}, 100},
		"every namespace":       {checkpoint.Query{All: true, Limit: 1000}, 1000},
		"status":                {checkpoint.Query{Status: status}, 100},
		"status everywhere":     {checkpoint.Query{Status: status, All: true}, 100},
		"two statuses":          {checkpoint.Query{Status: append(status, checkpoint.StatusRunning)}, 100},
		"none of a status":      {checkpoint.Query{Status: []checkpoint.Status{checkpoint.StatusDone}, Labels: red}, 0},
		"no such namespace":     {checkpoint.Query{Namespace: "n", Status: status, Labels: red}, 0},
		"label":                 {checkpoint.Query{Status: status, Labels: red}, 100},
		"rare label":            {checkpoint.Query{Status: status, Labels: map[string]string{"team": "red", "rare": "yes"}}, min(n/1000, 100)},
		"no such label":         {checkpoint.Query{Status: status, Labels: map[string]string{"team": "blue"}}, 0},
		"wait":                  {checkpoint.Query{Status: status, Wait: "approval"}, 100},
		"strategy":              {checkpoint.Query{Strategy: "complete_task", Wait: "approval"}, 100},
		"few are due":           {checkpoint.Query{Status: status, Due: after(3600 + 49)}, 50},
		"all are due":           {checkpoint.Query{Status: status, Due: after(3600 + n)}, 100},
		"unleased":              {checkpoint.Query{Status: status, Unleased: true}, 100},
		"due and unleased":      {checkpoint.Query{Status: status, All: true, Unleased: true, Due: after(3600 + 99)}, 50},
		"posted":                {checkpoint.Query{Status: status, Posted: true}, min(n/500, 100)},
		"posted, all, unleased": {checkpoint.Query{Status: status, All: true, Posted: true, Unleased: true}, min(n/500, 100)},
		"long since":            {checkpoint.Query{Status: status, Updated: after(50)}, 50},
		"deep in the list":      {checkpoint.Query{Status: status, After: checkpoint.Cursor{Created: after(n / 2), Key: key("x")}}, 100},
		"deep, everywhere":      {checkpoint.Query{All: true, After: checkpoint.Cursor{Created: after(n / 2), Key: key("x")}}, 100},
	}
}

type question struct {
	q    checkpoint.Query
	want int
}

// mostBeside is how many rows a question may read beside those of its page.
const mostBeside = 10

// rowsRead returns the greatest number of rows that a node of an explained plan reads or leaves out.
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
	for name, c := range questions(n) {
		t.Run(name, func(t *testing.T) {
			page, err := s.List(t.Context(), c.q)
			require.NoError(t, err)
			require.Len(t, page.Heads, c.want)
			require.True(t, slices.IsSortedFunc(page.Heads, func(a, b checkpoint.Head) int { return b.Created.Compare(a.Created) }))

			plan, err := pgstore.Explained(t.Context(), s, c.q)
			require.NoError(t, err)
			require.Regexp(t, counted, plan)
			require.LessOrEqual(t, rowsRead(plan), 2*c.want+mostBeside, plan)
		})
	}
}

// BenchmarkPostgreSQLList measures the first page of each question to 100,000 waiting runs.
func BenchmarkPostgreSQLList(b *testing.B) {
	const n = 100_000
	s := waiting(b, n)
	all := questions(n)
	took := map[string][]float64{} // milliseconds
	for b.Loop() {
		for name, c := range all {
			began := time.Now()
			page, err := s.List(b.Context(), c.q)
			took[name] = append(took[name], float64(time.Since(began))/1e6)
			require.NoError(b, err)
			require.Len(b, page.Heads, c.want)
		}
	}
	var pages []float64
	for _, list := range took {
		pages = append(pages, median(list))
	}
	b.ReportMetric(slices.Min(pages), "fastest-ms/page")
	b.ReportMetric(slices.Max(pages), "slowest-ms/page")
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
