package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/internal/waittest"
)

// held keeps a store from writing until it is called.
func held(t *testing.T, path string) (free func()) {
	t.Helper()
	other := open(t, path)
	require.NoError(t, sqlitestore.Execute(other, "BEGIN IMMEDIATE"))
	return func() { require.NoError(t, sqlitestore.Execute(other, "COMMIT")) }
}

// queued waits until all but the first of so many jobs, which is on its way, stand in the queue.
func queued(t *testing.T, s *sqlitestore.Store, jobs int) {
	t.Helper()
	require.Eventually(t, func() bool { return sqlitestore.Waiting(s) >= jobs-1 }, time.Minute, time.Millisecond)
}

// Appends of many runs that wait share one transaction, and its flush. Each succeeds or fails by
// itself.
func TestGroup_sharesTransactions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path)
	for i := range 32 {
		require.NoError(t, s.Append(t.Context(), first(fmt.Sprint(i), "1")))
	}
	before, _ := sqlitestore.Commits(s)
	require.EqualValues(t, 32, before, "one alone waits for nobody")

	free := held(t, path)
	var all sync.WaitGroup
	errs := make([]error, 64)
	for i := range errs {
		all.Go(func() {
			run := fmt.Sprint(i % 32)
			if i < 32 {
				errs[i] = s.Append(t.Context(), next(run, 2, "2"))
			} else {
				errs[i] = s.Append(t.Context(), next(run, 7, "7")) // never the next one
			}
		})
	}
	queued(t, s, len(errs))
	free()
	waittest.All(t, &all)
	for i, err := range errs {
		if i < 32 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, checkpoint.ErrConflict)
		}
	}
	after, _ := sqlitestore.Commits(s)
	require.LessOrEqual(t, after-before, int64(3))
}

// One that waits and is told to stop adds nothing, whether it leads or not, and the others go on.
func TestGroup_contexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path)
	const n = 24
	for i := range n {
		require.NoError(t, s.Append(t.Context(), first(fmt.Sprint(i), "1")))
	}
	for range 5 {
		free := held(t, path)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		errs := make([]error, n)
		for i := range n {
			mine := t.Context()
			if i%3 > 0 {
				mine = ctx
			}
			h, err := s.Head(t.Context(), key(fmt.Sprint(i)))
			require.NoError(t, err)
			all.Go(func() { errs[i] = s.Append(mine, next(fmt.Sprint(i), h.Last+1, "more")) })
		}
		queued(t, s, n)
		cancel()
		require.Eventually(t, func() bool { return sqlitestore.Waiting(s) == n/3 }, time.Minute, time.Millisecond, "the others have left")
		free()
		waittest.All(t, &all)
		for i, err := range errs {
			if i%3 > 0 {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.NoError(t, err)
			}
		}
	}
	for i := range n {
		data, err := journal(t.Context(), s, fmt.Sprint(i))
		require.NoError(t, err)
		if i%3 > 0 {
			require.Len(t, data, 1)
		} else {
			require.Len(t, data, 6)
		}
	}
}

// A step is one transaction, and the log is drained beside the steps: it does not grow for ever,
// though somebody always writes.
func TestLog_isBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, path)
	var all sync.WaitGroup
	runs, steps := 4, 400
	if raceEnabled { // which has the log drained a hundred times as slowly as it is written
		steps = 100
	}
	data := strings.Repeat("x", 64<<10)
	for i := range runs {
		all.Go(func() {
			run := fmt.Sprint(i)
			for at := 1; at <= steps; at++ {
				if err := s.Append(t.Context(), next(run, at, data)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	waittest.All(t, &all)
	commits, drained := sqlitestore.Commits(s)
	require.LessOrEqual(t, commits, int64(runs*steps))
	require.Positive(t, drained)
	size := sizeOf(t, path+"-wal")
	t.Logf("%d MiB written, %d transactions, drained %d times, the log has %d MiB", runs*steps/16, commits, drained, size>>20)
	if !raceEnabled {
		require.Less(t, size, int64(48<<20))
	}
}

// Calls that are on their way when a store is closed end before it, those that come later fail.
func TestClose_whileWriting(t *testing.T) {
	s := fresh(t)
	var all, begun sync.WaitGroup
	last := make([]int, 8)
	begun.Add(len(last))
	for i := range last {
		all.Go(func() {
			for at := 1; ; at++ {
				if at == 2 {
					begun.Done()
				}
				if err := s.Append(t.Context(), next(fmt.Sprint(i), at, "x")); err != nil {
					require.ErrorIs(t, err, checkpoint.ErrClosed)
					return
				}
				last[i] = at
			}
		})
	}
	waittest.All(t, &begun)
	require.NoError(t, s.Close())
	waittest.All(t, &all)
	require.Positive(t, last[0])
}
