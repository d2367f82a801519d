package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// BenchmarkSteps measures durable steps of one record in several runs at once, beside the same
// bytes appended to a file and flushed, in turns: "ratio" is that of the medians. steps makes a
// store for a number of bytes and of runs, and measures them.
func BenchmarkSteps[M ~string](b *testing.B, modes []M, steps func(b *testing.B, size, runs int, mode M)) {
	b.Helper()
	for _, size := range []int{4 << 10, 64 << 10} {
		for _, mode := range modes {
			for _, runs := range []int{1, 16} {
				b.Run(fmt.Sprintf("bytes=%d/synchronous=%s/runs=%d", size, mode, runs), func(b *testing.B) { steps(b, size, runs, mode) })
			}
		}
	}
}

// Steps takes rounds of steps of an empty store, in turns with rounds of the file, and returns how
// many it took. before is called before the first one.
func Steps(b *testing.B, s checkpoint.Store, size, runs int, before func()) (taken int) {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	require.NoError(b, err)
	defer func() { _ = file.Close() }()
	data := text(size)
	record := string(data)
	const round = 64 // steps of each run
	for i := range runs {
		require.NoError(b, s.Append(b.Context(), First(fmt.Sprint("run-", i), record)))
	}
	var store, floor []float64 // nanoseconds a step
	seq := 1
	before()
	for b.Loop() {
		began := time.Now()
		for range round {
			_, _ = file.Write(data)
			_ = file.Sync()
		}
		floor = append(floor, float64(time.Since(began))/round)
		began = time.Now()
		var all sync.WaitGroup
		for run := range runs {
			all.Go(func() {
				for i := range round {
					if err := s.Append(b.Context(), Next(fmt.Sprint("run-", run), seq+1+i, record)); err != nil {
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
	b.ReportMetric(0, "ns/op")
	return (seq - 1) * runs
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

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
