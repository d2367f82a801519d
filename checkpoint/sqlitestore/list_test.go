package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// waiting fills a store with waiting runs as fast as SQLite can, beside a few that the store made.
func waiting(t testing.TB, n int) *sqlitestore.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "runs.db"))
	must := func(text string) { require.NoError(t, sqlitestore.Execute(s, text)) }
	b := first("model", "1")
	b.Key.Namespace, b.Header = "model", storetest.Waiting()
	require.NoError(t, s.Append(t.Context(), b))
	must("BEGIN")
	must(`CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ` + fmt.Sprint(n) + `) SELECT i FROM c`)
	must(`INSERT INTO runs (id, namespace, run, last, epoch, created, updated, lease_until, recoveries, status, strategy, origin, due, writer, lease_writer, header, sum)
		SELECT 10 + i, '', printf('run-%08d', i), 1, 1, created + i * 1000000000, created + i * 1000000000, 0, 0, status, strategy, '', created + (3600 + i) * 1000000000, writer, '', header, sum FROM runs, n WHERE run = 'model'`)
	must(`INSERT INTO marks SELECT '', m.class, m.name, m.value, m.created + i * 1000000000, 10 + i FROM marks m, n`)
	must(`INSERT INTO marks SELECT '', 4, 'rare', 'yes', (SELECT created FROM runs WHERE id = 10 + i), 10 + i FROM n WHERE i % 1000 = 0`)
	must(`INSERT INTO marks SELECT '', 4, 'half', 'yes', (SELECT created FROM runs WHERE id = 10 + i), 10 + i FROM n WHERE i % 2 = 0`)
	must(`INSERT INTO inbox (run, message, at, data, sum) SELECT 10 + i, 'm', 0, x'', 0 FROM n WHERE i % 500 = 1`)
	must(`UPDATE runs SET lease_until = 9000000000000000000 WHERE id % 2 = 0`)
	must("COMMIT")
	must("DROP TABLE n")
	require.NoError(t, sqlitestore.SumHeads(s)) // those that were copied had that of another key
	must("PRAGMA wal_checkpoint(TRUNCATE)")
	return s
}

// questions are those that all such stores are asked, and one of an even half of the runs.
func questions(t testing.TB, s *sqlitestore.Store, n int) map[string]storetest.Question {
	t.Helper()
	model, err := s.Head(t.Context(), checkpoint.Key{Namespace: "model", Run: "model"})
	require.NoError(t, err)
	all := storetest.Questions(model.Created, n)
	all["leased, of a half"] = storetest.Question{Query: checkpoint.Query{
		Status: []checkpoint.Status{checkpoint.StatusWaiting}, Labels: map[string]string{"half": "yes"}, Unleased: true,
	}}
	return all
}

// Whatever is asked for, nothing is read from one end to the other, and nothing put in order but
// what is known to be few.
func TestList_searches(t *testing.T) {
	const n = 4000
	s := waiting(t, n)
	storetest.List(t, s, questions(t, s, n), func(t *testing.T, c storetest.Question) {
		plans, err := sqlitestore.Plans(t.Context(), s, c.Query)
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

// BenchmarkSQLiteList measures the first page of each question to 100,000 waiting runs.
func BenchmarkSQLiteList(b *testing.B) {
	const n = 100_000
	s := waiting(b, n)
	storetest.BenchmarkList(b, s, questions(b, s, n))
}
