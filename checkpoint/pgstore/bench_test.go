package pgstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint/internal/storetest"
	"github.com/segue-go/segue/checkpoint/pgstore"
)

// BenchmarkPostgreSQLStep measures durable steps. It means something if the server is on this
// machine, and its disk that of temporary files.
func BenchmarkPostgreSQLStep(b *testing.B) {
	storetest.BenchmarkSteps(b, []pgstore.Synchronous{pgstore.Full, pgstore.Normal}, func(b *testing.B, size, runs int, mode pgstore.Synchronous) {
		c := fresh(b)
		c.Synchronous = mode
		s := open(b, c)
		before := 0
		taken := storetest.Steps(b, s, size, runs, func() { before = flushes(b, c) })
		if mode == pgstore.Full {
			require.NoError(b, s.Close()) // connections say what they did when they end
			b.ReportMetric(float64(flushes(b, c)-before)/float64(taken), "flushes/step")
		}
	})
}

// flushes returns how often the server has flushed its log, for all of its databases.
func flushes(b *testing.B, c pgstore.Config) int {
	time.Sleep(1200 * time.Millisecond)
	n, err := strconv.Atoi(ask(b, c, "SELECT wal_sync::text FROM pg_stat_wal"))
	require.NoError(b, err)
	return n
}
