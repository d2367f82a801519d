package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// BenchmarkSQLiteStep measures durable steps: "flushes/step" counts transactions and two flushes
// each time that the log is drained.
func BenchmarkSQLiteStep(b *testing.B) {
	storetest.BenchmarkSteps(b, []sqlitestore.Synchronous{sqlitestore.Full, sqlitestore.Normal}, func(b *testing.B, size, runs int, mode sqlitestore.Synchronous) {
		s, err := sqlitestore.Open(b.Context(), sqlitestore.Config{Path: filepath.Join(b.TempDir(), "runs.db"), Synchronous: mode})
		require.NoError(b, err)
		defer s.Close()
		var before, drainedBefore int64
		taken := storetest.Steps(b, s, size, runs, func() { before, drainedBefore = sqlitestore.Commits(s) })
		if mode == sqlitestore.Full {
			commits, drained := sqlitestore.Commits(s)
			b.ReportMetric(float64(commits-before+2*(drained-drainedBefore))/float64(taken), "flushes/step")
		}
	})
}

// BenchmarkSQLiteRead reads a run of 10,000 records, as a resume does.
func BenchmarkSQLiteRead(b *testing.B) {
	s := fresh(b)
	const n = 10_000
	data := make([]string, n)
	for i := range data {
		data[i] = content("run", i%40)
	}
	require.NoError(b, s.Append(b.Context(), first("run", data...)))
	b.ReportAllocs()
	for b.Loop() {
		read := 0
		for _, err := range s.Read(b.Context(), key("run"), 1) {
			require.NoError(b, err)
			read++
		}
		require.Equal(b, n, read)
	}
}
