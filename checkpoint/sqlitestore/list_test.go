package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// waiting fills a store with waiting runs as fast as SQLite can, beside a few that the store made.
func waiting(t testing.TB, n int) *sqlitestore.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "runs.db"))
	must := func(text string) { require.NoError(t, sqlitestore.Execute(s, text)) }
	b := first("model", "1")
	b.Header = &checkpoint.Header{
		Status: checkpoint.StatusWaiting, Strategy: "complete_task", Format: 2, Version: "v0.3.0",
		Waits: []checkpoint.Wait{{ID: "1", Kind: "approval"}}, Labels: map[string]string{"team": "red"},
	}
	require.NoError(t, s.Append(t.Context(), b))
	must("BEGIN")
	must(`CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ` + fmt.Sprint(n) + `) SELECT i FROM c`)
	must(`INSERT INTO runs (id, namespace, run, last, epoch, created, updated, lease_until, recoveries, status, strategy, origin, due, writer, lease_writer, header, sum)
		SELECT 10 + i, '', printf('run-%08d', i), 1, 1, created + i, created + i, 0, 0, status, strategy, '', created + i * 1000000000, writer, '', header, sum FROM runs, n WHERE run = 'model'`)
	must(`INSERT INTO marks SELECT m.namespace, m.class, m.name, m.value, m.created + i, 10 + i FROM marks m, n`)
	must(`INSERT INTO marks SELECT '', 4, 'rare', 'yes', (SELECT created FROM runs WHERE id = 10 + i), 10 + i FROM n WHERE i % 1000 = 0`)
	must(`INSERT INTO marks SELECT '', 4, 'half', 'yes', (SELECT created FROM runs WHERE id = 10 + i), 10 + i FROM n WHERE i % 2 = 0`)
	must(`INSERT INTO inbox (run, message, at, data, sum) SELECT 10 + i, 'm', 0, x'', 0 FROM n WHERE i % 500 = 0`)
	must(`UPDATE runs SET lease_until = 9000000000000000000 WHERE id % 2 = 0`)
	must("COMMIT")
	must("DROP TABLE n")
	require.NoError(t, sqlitestore.SumHeads(s)) // those that were copied had that of another key
	must("PRAGMA wal_checkpoint(TRUNCATE)")
	return s
}

// questions are queries, and how many runs the first page of each has, of n runs.
func questions(created time.Time, n int) map[string]question {
	status := []checkpoint.Status{checkpoint.StatusWaiting}
	red := map[string]string{"team": "red"}
	at := func(i int) time.Time { return created.Add(time.Duration(i) * time.Second) }
	return map[string]question{
		"all":                   {checkpoint.Query{}, 100},
		"every namespace":       {checkpoint.Query{All: true, Limit: 1000}, 1000},
		"status":                {checkpoint.Query{Status: status}, 100},
		"two statuses":          {checkpoint.Query{Status: []checkpoint.Status{"waiting", "running"}}, 100},
		"none of a status":      {checkpoint.Query{Status: []checkpoint.Status{checkpoint.StatusDone}, Labels: red}, 0},
		"label":                 {checkpoint.Query{Status: status, Labels: red}, 100},
		"rare label":            {checkpoint.Query{Status: status, Labels: map[string]string{"team": "red", "rare": "yes"}}, min(100, n/1000)},
		"no such label":         {checkpoint.Query{Status: status, Labels: map[string]string{"team": "blue"}}, 0},
		"wait":                  {checkpoint.Query{Status: status, Wait: "approval"}, 100},
		"strategy":              {checkpoint.Query{Strategy: "complete_task", Wait: "approval"}, 100},
		"few are due":           {checkpoint.Query{Status: status, Due: at(50)}, 50},
		"all are due":           {checkpoint.Query{Status: status, Due: at(2 * n)}, 100},
		"unleased":              {checkpoint.Query{Status: status, Unleased: true}, 100},
		"due and unleased":      {checkpoint.Query{Status: status, Unleased: true, Due: at(100)}, 50},
		"leased, of a half":     {checkpoint.Query{Status: status, Labels: map[string]string{"half": "yes"}, Unleased: true}, 0},
		"posted":                {checkpoint.Query{Status: status, Posted: true}, min(100, n/500)},
		"posted, all, unleased": {checkpoint.Query{Status: status, All: true, Posted: true, Unleased: true}, 0},
		"long since":            {checkpoint.Query{Status: status, Updated: created.Add(50)}, 50},
		"deep in the list":      {checkpoint.Query{Status: status, After: checkpoint.Cursor{Created: created.Add(time.Duration(n / 2)), Key: key("x")}}, 100},
	}
}

type question struct {
	query checkpoint.Query
	want  int
}

// Whatever is asked for, nothing is read from one end to the other, and nothing put in order but
// what is known to be few.
func TestList_searches(t *testing.T) {
	const n = 4000
	s := waiting(t, n)
	model, err := s.Head(t.Context(), key("model"))
	require.NoError(t, err)
	for name, c := range questions(model.Created, n) {
		t.Run(name, func(t *testing.T) {
			page, err := s.List(t.Context(), c.query)
			require.NoError(t, err)
			require.Len(t, page.Heads, c.want)
			require.True(t, slices.IsSortedFunc(page.Heads, func(a, b checkpoint.Head) int { return b.Created.Compare(a.Created) }))
			plans, err := sqlitestore.Plans(t.Context(), s, c.query)
			require.NoError(t, err)
			few := strings.Contains(plans, "runs_by_due") || strings.Contains(plans, "SCAN p")
			for plan := range strings.Lines(plans) {
				if !few {
					require.NotContains(t, plan, "SCAN", plans)
					require.NotContains(t, plan, "TEMP B-TREE FOR ORDER BY", plans)
				}
			}
		})
	}
}

// BenchmarkSQLiteList measures the first page of each question to 100,000 waiting runs.
func BenchmarkSQLiteList(b *testing.B) {
	const n = 100_000
	s := waiting(b, n)
	model, err := s.Head(b.Context(), key("model"))
	require.NoError(b, err)
	all := questions(model.Created, n)
	took := map[string][]float64{} // milliseconds
	for b.Loop() {
		for name, c := range all {
			began := time.Now()
			page, err := s.List(b.Context(), c.query)
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
