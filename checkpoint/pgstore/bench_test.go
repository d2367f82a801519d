package pgstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/pgstore"
)

// BenchmarkPostgreSQLStep measures a durable step of one record beside the same bytes appended to a
// file and flushed, in turns: "ratio" is that of the medians. It means something if the server is
// on this machine, and its disk that of temporary files.
func BenchmarkPostgreSQLStep(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		for _, mode := range []pgstore.Synchronous{pgstore.Full, pgstore.Normal} {
			for _, runs := range []int{1, 16} {
				b.Run(fmt.Sprintf("bytes=%d/synchronous=%s/runs=%d", size, mode, runs), func(b *testing.B) {
					steps(b, size, runs, mode)
				})
			}
		}
	}
}

// text returns letters that hardly get shorter by compression.
func text(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(' ' + random.IntN(64))
	}
	return data
}

// steps takes rounds of steps in turns with rounds of the floor.
func steps(b *testing.B, size, runs int, mode pgstore.Synchronous) {
	c := fresh(b)
	c.Synchronous = mode
	s := open(b, c)
	file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	require.NoError(b, err)
	defer file.Close()
	data := text(size)
	const round = 64 // steps of each run
	keys := make([]checkpoint.Key, runs)
	for i := range keys {
		keys[i] = key(fmt.Sprintf("run-%d", i))
		require.NoError(b, s.Append(b.Context(), first(keys[i].Run, string(data))))
	}
	var store, floor []float64 // nanoseconds a step
	seq := 1
	before := flushes(b, c)
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
	b.ReportMetric(median(store), "ns/step")
	b.ReportMetric(median(store)/median(floor), "ratio")
	if mode == pgstore.Full {
		require.NoError(b, s.Close()) // connections say what they did when they end
		b.ReportMetric(float64(flushes(b, c)-before)/float64((seq-1)*runs), "flushes/step")
	}
	b.ReportMetric(0, "ns/op")
}

// flushes returns how often the server has flushed its log, for all of its databases.
func flushes(b *testing.B, c pgstore.Config) int {
	time.Sleep(1200 * time.Millisecond)
	n, err := strconv.Atoi(ask(b, c, "SELECT wal_sync::text FROM pg_stat_wal"))
	require.NoError(b, err)
	return n
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
