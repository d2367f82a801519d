package sqlitestore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
)

// BenchmarkSQLiteStep measures a durable step of one record beside the same bytes appended to a
// file and flushed, in turns: "ratio" is that of the medians, "flushes/step" counts transactions
// and two flushes each time that the log is drained.
func BenchmarkSQLiteStep(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		for _, mode := range []sqlitestore.Synchronous{sqlitestore.Full, sqlitestore.Normal} {
			for _, runs := range []int{1, 16} {
				b.Run(fmt.Sprintf("bytes=%d/synchronous=%s/runs=%d", size, mode, runs), func(b *testing.B) {
					steps(b, size, runs, mode)
				})
			}
		}
	}
}

// steps takes rounds of steps in turns with rounds of the floor.
func steps(b *testing.B, size, runs int, mode sqlitestore.Synchronous) {
	s, err := sqlitestore.Open(b.Context(), sqlitestore.Config{Path: filepath.Join(b.TempDir(), "runs.db"), Synchronous: mode})
	require.NoError(b, err)
	defer s.Close()
	file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	require.NoError(b, err)
	defer file.Close()
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	const round = 64 // steps of each run
	keys := make([]checkpoint.Key, runs)
	for i := range keys {
		keys[i].Run = fmt.Sprintf("run-%d", i)
		require.NoError(b, s.Append(b.Context(), checkpoint.Batch{
			Key: keys[i], Writer: "w", Epoch: 1, Header: &checkpoint.Header{Status: checkpoint.StatusRunning},
			Records: []checkpoint.Record{{Seq: 1, Type: "started", Data: data}},
		}))
	}
	var store, floor []float64 // nanoseconds a step
	seq := 1
	before, drainedBefore := sqlitestore.Commits(s)
	for b.Loop() {
		began := time.Now()
		for range round {
			_, _ = file.Write(data)
			_ = file.Sync()
		}
		floor = append(floor, float64(time.Since(began))/round)
		began = time.Now()
		var all sync.WaitGroup
		for _, key := range keys {
			all.Go(func() {
				for i := range round {
					r := checkpoint.Record{Seq: seq + 1 + i, Type: "answered", Data: data}
					if err := s.Append(b.Context(), checkpoint.Batch{Key: key, Writer: "w", Epoch: 1, Records: []checkpoint.Record{r}}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		seq += round
		store = append(store, float64(time.Since(began))/float64(round*runs))
	}
	commits, drained := sqlitestore.Commits(s)
	taken := float64((seq - 1) * runs)
	b.ReportMetric(median(store), "ns/step")
	b.ReportMetric(median(store)/median(floor), "ratio")
	if mode == sqlitestore.Full {
		b.ReportMetric(float64(commits-before+2*(drained-drainedBefore))/taken, "flushes/step")
	}
	b.ReportMetric(0, "ns/op")
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

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
