package pgstore_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/pgstore"
	"github.com/segue-go/segue/internal/waittest"
)

// locked keeps a run locked, as another program that changes it, until the function is called.
func locked(t *testing.T, c pgstore.Config, run string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "SELECT set_config('search_path', $1, false)", c.Schema)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "BEGIN")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "SELECT FROM runs WHERE run = $1 FOR UPDATE", run)
	require.NoError(t, err)
	return func() { require.NoError(t, conn.Close(context.Background())) }
}

// waitsForLock waits until an append of a store waits for whoever has its run locked.
func waitsForLock(t *testing.T, c pgstore.Config) {
	t.Helper()
	require.Eventually(t, func() bool {
		return ask(t, c, "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%append_4%'") != "0"
	}, time.Minute, time.Millisecond)
}

// inTheBackground appends a batch, and tells what became of it.
func inTheBackground(ctx context.Context, s *pgstore.Store, b checkpoint.Batch) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Append(ctx, b) }()
	return done
}

// allOnTheirWay waits until no append stands in the queue.
func allOnTheirWay(t *testing.T, s *pgstore.Store) {
	t.Helper()
	require.Eventually(t, func() bool { return pgstore.Waiting(s) == 0 }, time.Minute, time.Millisecond)
}

// Appends that come while another is on its way share a transaction.
func TestAppend_shares(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("locked", "1")))
	release := locked(t, c, "locked")
	all := []<-chan error{inTheBackground(t.Context(), s, next("locked", 2, "2"))}
	waitsForLock(t, c)
	const n = 24
	for i := range n {
		all = append(all, inTheBackground(t.Context(), s, first(fmt.Sprint("run-", i), "1")))
	}
	allOnTheirWay(t, s)
	release()
	for _, done := range all {
		require.NoError(t, waittest.Receive(t, done))
	}
	taken, err := strconv.Atoi(ask(t, c, "SELECT count(DISTINCT xmin::text)::text FROM records"))
	require.NoError(t, err)
	require.Less(t, taken, n/2)
}

// A run that somebody keeps locked holds up nobody else, not even those who share its transaction.
func TestAppend_lockedRun(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	for _, run := range []string{"a", "b", "locked"} {
		require.NoError(t, s.Append(t.Context(), first(run, "1")))
	}
	release := locked(t, c, "locked")
	ctx, cancel := context.WithCancel(t.Context())
	one := inTheBackground(ctx, s, next("locked", 2, "2")) // given up; the server may do it nevertheless
	waitsForLock(t, c)
	two := inTheBackground(t.Context(), s, next("locked", 2, "2")) // with others, in the next group
	for seq := 2; seq < 20; seq++ {
		a, b := inTheBackground(t.Context(), s, next("a", seq, "a")), inTheBackground(t.Context(), s, next("b", seq, "b"))
		require.NoError(t, waittest.Receive(t, a))
		require.NoError(t, waittest.Receive(t, b))
	}
	cancel()
	require.ErrorIs(t, waittest.Receive(t, one), context.Canceled)
	select {
	case err := <-two:
		t.Fatal("it is locked still", err)
	default:
	}
	release()
	require.NoError(t, waittest.Receive(t, two))
	data, err := journal(t.Context(), s, "locked")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, data)
}

// A batch that the server refuses fails alone.
func TestAppend_failsAlone(t *testing.T) {
	c := fresh(t)
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("locked", "1")))
	release := locked(t, c, "locked")
	one := inTheBackground(t.Context(), s, next("locked", 2, "2"))
	waitsForLock(t, c)
	bad := first("bad", "1")
	bad.Records[0].Type = "a\x00b"
	refused, missing := inTheBackground(t.Context(), s, bad), inTheBackground(t.Context(), s, next("no such run", 2, "2"))
	var good []<-chan error
	for i := range 8 {
		good = append(good, inTheBackground(t.Context(), s, first(fmt.Sprint("good-", i), "1")))
	}
	allOnTheirWay(t, s)
	release()
	require.ErrorIs(t, waittest.Receive(t, refused), pgstore.ErrText)
	require.ErrorIs(t, waittest.Receive(t, missing), checkpoint.ErrConflict)
	for _, done := range append(good, one) {
		require.NoError(t, waittest.Receive(t, done))
	}
}

// Who gives up while others go on may use what belongs to him again: what is stored is what was to
// be appended, or nothing.
func TestAppend_givenUp(t *testing.T) {
	c := fresh(t)
	var slow atomic.Bool
	c.Configure = func(p *pgxpool.Config) {
		p.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) {
			if slow.Load() {
				time.Sleep(50 * time.Millisecond) // longer than some wait
			}
			return true, nil
		}
	}
	s := open(t, c)
	require.NoError(t, s.Append(t.Context(), first("other", "1")))
	slow.Store(true)
	seq := 1
	for range 6 {
		one := inTheBackground(t.Context(), s, next("other", seq+1, "x"))
		allOnTheirWay(t, s) // and the next two share a group
		two := inTheBackground(t.Context(), s, first(fmt.Sprint("beside-", seq), "1"))
		run := fmt.Sprint("given-up-", seq)
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Millisecond)
		b := first(run, "whole")
		err := s.Append(ctx, b)
		cancel()
		copy(b.Records[0].Data, "other")
		b.Records[0].Seq = 7
		require.NoError(t, waittest.Receive(t, one))
		require.NoError(t, waittest.Receive(t, two))
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.NoError(t, s.Append(t.Context(), first(run, "whole")), "the same again is told from a conflict")
		data, err := journal(t.Context(), s, run)
		require.NoError(t, err)
		require.Equal(t, []string{"whole"}, data)
		seq++
	}
}

// fragile is a tracer that panics while it is broken.
type fragile struct{ broken atomic.Bool }

func (f *fragile) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if f.broken.Load() {
		panic("out of order")
	}
	return ctx
}

func (f *fragile) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A function of the Config that panics does so where Append was called, and the next one goes on.
func TestAppend_panics(t *testing.T) {
	c := fresh(t)
	var tracer fragile
	c.Configure = func(p *pgxpool.Config) { p.ConnConfig.Tracer = &tracer }
	s := open(t, c)
	tracer.broken.Store(true)
	func() {
		defer func() { require.Contains(t, recover(), "out of order") }()
		_ = s.Append(t.Context(), first("r", "1"))
		t.Error("it has returned")
	}()
	tracer.broken.Store(false)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
}
