package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/internal/waittest"
)

const day = 24 * time.Hour

// put begins a run with a record and a header.
func put(t *testing.T, s checkpoint.Store, key checkpoint.Key, h checkpoint.Header) {
	t.Helper()
	require.NoError(t, s.Append(t.Context(), checkpoint.Batch{
		Key: key, Records: []checkpoint.Record{{Seq: 1, Data: []byte(key.Run)}}, Header: &h, Writer: "w", Epoch: 1,
	}))
}

func inDefault(run string) checkpoint.Key { return checkpoint.Key{Run: run} }

// Runs are deleted by state and age, each state by an age of its own.
func TestPrune_byAge(t *testing.T) {
	for name, c := range map[string]struct {
		retention checkpoint.Retention
		stay      []string
	}{
		"nothing":   {checkpoint.Retention{}, []string{"done", "due", "failed", "parked", "running", "stateless", "waiting", "young"}},
		"ended":     {checkpoint.Retention{Ended: 30 * day}, []string{"due", "parked", "running", "stateless", "waiting", "young"}},
		"not yet":   {checkpoint.Retention{Ended: 41 * day, Waiting: 41 * day}, []string{"done", "due", "failed", "parked", "running", "stateless", "waiting", "young"}},
		"waiting":   {checkpoint.Retention{Waiting: 30 * day}, []string{"done", "due", "failed", "parked", "running", "stateless", "young"}},
		"parked":    {checkpoint.Retention{Parked: day}, []string{"done", "due", "failed", "running", "stateless", "waiting", "young"}},
		"abandoned": {checkpoint.Retention{Abandoned: day}, []string{"done", "due", "failed", "parked", "waiting", "young"}},
		"of a label": {
			checkpoint.Retention{Ended: day, Labels: map[string]string{"l": "failed"}},
			[]string{"done", "due", "parked", "running", "stateless", "waiting", "young"},
		},
		"kept": {
			checkpoint.Retention{Ended: day, Keep: func(h checkpoint.Head) bool { return h.Key.Run == "done" }},
			[]string{"done", "due", "parked", "running", "stateless", "waiting", "young"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := new(checkpoint.Memory)
				for run, status := range map[string]checkpoint.Status{
					"done": checkpoint.StatusDone, "failed": checkpoint.StatusFailed, "waiting": checkpoint.StatusWaiting,
					"parked": checkpoint.StatusParked, "running": checkpoint.StatusRunning, "stateless": "",
				} {
					put(t, m, inDefault(run), checkpoint.Header{Status: status, Labels: map[string]string{"l": run}})
				}
				put(t, m, inDefault("due"), checkpoint.Header{Status: checkpoint.StatusWaiting, Due: time.Now().Add(39 * day)})
				put(t, m, checkpoint.Key{Namespace: "other", Run: "r"}, checkpoint.Header{Status: checkpoint.StatusDone})
				time.Sleep(40 * day)
				put(t, m, inDefault("young"), checkpoint.Header{Status: checkpoint.StatusDone})
				n, err := checkpoint.Prune(t.Context(), m, c.retention)
				require.NoError(t, err)
				left := runs(t, m)
				require.Contains(t, left, "r", "another namespace")
				require.Equal(t, 9-len(left), n)
				for _, stays := range c.stay {
					require.Contains(t, left, stays)
				}
				require.Len(t, left, len(c.stay)+1)
			})
		})
	}
}

// The newest runs of each group stay, whatever their age.
func TestPrune_byNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(checkpoint.Memory)
		for i := range 2500 {
			time.Sleep(time.Second)
			put(t, m, checkpoint.Key{Namespace: strconv.Itoa(i % 2), Run: strconv.Itoa(i)}, checkpoint.Header{
				Status: checkpoint.StatusDone, Labels: map[string]string{"user": strconv.Itoa(i % 4)},
			})
		}
		put(t, m, inDefault("waits"), checkpoint.Header{Status: checkpoint.StatusWaiting})
		n, err := checkpoint.Prune(t.Context(), m, checkpoint.Retention{All: true, Newest: 500})
		require.NoError(t, err)
		require.Equal(t, 1500, n)
		n, err = checkpoint.Prune(t.Context(), m, checkpoint.Retention{All: true, Newest: 2, By: "user", Ended: day})
		require.NoError(t, err)
		require.Equal(t, 992, n)
		require.Equal(t, []string{"2492", "2493", "2494", "2495", "2496", "2497", "2498", "2499", "waits"}, runs(t, m))
		time.Sleep(2 * day)
		n, err = checkpoint.Prune(t.Context(), m, checkpoint.Retention{Namespace: "1", Newest: 2, By: "user", Ended: day})
		require.NoError(t, err)
		require.Equal(t, 4, n, "the age counts as well")
	})
}

// A run that somebody works on, or has something to say to, stays.
func TestPrune_leavesRunsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(checkpoint.Memory)
		for _, run := range []string{"leased", "posted", "dead"} {
			put(t, m, inDefault(run), checkpoint.Header{Status: checkpoint.StatusRunning})
		}
		require.NoError(t, m.Post(t.Context(), checkpoint.Message{ID: "m", Key: inDefault("posted")}))
		time.Sleep(40 * day)
		_, err := m.Lease(t.Context(), inDefault("leased"), "alive", time.Minute)
		require.NoError(t, err)
		all := checkpoint.Retention{All: true, Ended: day, Waiting: day, Parked: day, Abandoned: day}
		n, err := checkpoint.Prune(t.Context(), m, all)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, []string{"leased", "posted"}, runs(t, m))
		head, err := m.Head(t.Context(), inDefault("posted"))
		require.NoError(t, err)
		require.Zero(t, head.Lease, "its lease was given back")
	})
}

// racing is a store in which somebody does something between a list and what follows it.
type racing struct {
	*checkpoint.Memory
	between func()
}

func (r *racing) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	page, err := r.Memory.List(ctx, q)
	if len(page.Heads) > 0 {
		r.between()
	}
	return page, err
}

// A run that somebody goes on with between the list and its deletion stays; so does one that was
// begun anew under the same key.
func TestPrune_losesTheRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := checkpoint.Header{Status: checkpoint.StatusWaiting}
		done := checkpoint.Header{Status: checkpoint.StatusDone}
		for name, c := range map[string]struct {
			before  checkpoint.Header
			between func(m *checkpoint.Memory) error
		}{
			"resumed": {waits, func(m *checkpoint.Memory) error {
				_, err := m.Lease(t.Context(), inDefault("r"), "alive", time.Minute)
				return err
			}},
			"gone on and left": {waits, func(m *checkpoint.Memory) error {
				return m.Append(t.Context(), checkpoint.Batch{Key: inDefault("r"), Records: []checkpoint.Record{{Seq: 2}}, Writer: "alive", Epoch: 2})
			}},
			"answered": {waits, func(m *checkpoint.Memory) error {
				return m.Post(t.Context(), checkpoint.Message{ID: "m", Key: inDefault("r")})
			}},
			"begun anew": {done, func(m *checkpoint.Memory) error {
				if err := m.Delete(t.Context(), inDefault("r")); err != nil {
					return err
				}
				time.Sleep(time.Second)
				return m.Append(t.Context(), checkpoint.Batch{Key: inDefault("r"), Records: []checkpoint.Record{{Seq: 1}}, Header: &done, Writer: "alive", Epoch: 1})
			}},
		} {
			m := new(checkpoint.Memory)
			put(t, m, inDefault("r"), c.before)
			time.Sleep(40 * day)
			n, err := checkpoint.Prune(t.Context(), &racing{m, func() { require.NoError(t, c.between(m)) }}, checkpoint.Retention{Ended: day, Waiting: day})
			require.NoError(t, err, name)
			require.Zero(t, n, name)
			require.Equal(t, []string{"r"}, runs(t, m), name)
		}
	})
}

// Many go on with runs while others prune them: who has a lease keeps the run as long as the lease
// lasts, and no run is deleted in part.
func TestPrune_besideResumers(t *testing.T) {
	m := new(checkpoint.Memory)
	const n = 200
	for i := range n {
		put(t, m, inDefault(strconv.Itoa(i)), checkpoint.Header{Status: checkpoint.StatusWaiting})
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for _, i := range rand.Perm(n) {
				key, writer := inDefault(strconv.Itoa(i)), fmt.Sprint("w", w)
				h, err := m.Lease(context.Background(), key, writer, time.Minute)
				if errors.Is(err, checkpoint.ErrLeased) || errors.Is(err, checkpoint.ErrNotFound) {
					continue
				}
				for seq := h.Last + 1; seq < h.Last+4 && err == nil; seq++ {
					err = m.Append(context.Background(), checkpoint.Batch{Key: key, Records: []checkpoint.Record{{Seq: seq}}, Writer: writer, Epoch: h.Epoch, Lease: time.Minute})
				}
				if err != nil {
					t.Errorf("a run that was held: %v", err)
				}
				_, _ = m.Lease(context.Background(), key, writer, 0)
			}
		})
		all.Go(func() {
			for range 20 {
				if _, err := checkpoint.Prune(context.Background(), m, checkpoint.Retention{Waiting: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	waittest.All(t, &all)
}

// bare is a store without abilities.
type bare struct{ m *checkpoint.Memory }

func (b bare) Append(ctx context.Context, batch checkpoint.Batch) error {
	return b.m.Append(ctx, batch)
}

func (b bare) Read(ctx context.Context, key checkpoint.Key, from int) iter.Seq2[checkpoint.Record, error] {
	return b.m.Read(ctx, key, from)
}

func (b bare) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	return b.m.Head(ctx, key)
}

// listing is a store that lists and deletes, without leases.
type listing struct {
	bare
	checkpoint.Lister
}

type pruning struct {
	listing
	checkpoint.Pruner
}

func TestPrune_needsAbilities(t *testing.T) {
	m := new(checkpoint.Memory)
	put(t, m, inDefault("r"), checkpoint.Header{Status: checkpoint.StatusDone})
	_, err := checkpoint.Prune(t.Context(), bare{m}, checkpoint.Retention{Ended: 1})
	require.EqualError(t, err, "checkpoint: the store is no Lister: Prune needs one")
	_, err = checkpoint.Prune(t.Context(), listing{bare{m}, m}, checkpoint.Retention{Ended: 1})
	require.EqualError(t, err, "checkpoint: the store is no Pruner: Prune needs one")
	s := pruning{listing{bare{m}, m}, m}
	_, err = checkpoint.Prune(t.Context(), s, checkpoint.Retention{Waiting: 1})
	require.EqualError(t, err, "checkpoint: the store is no Leaser: Prune of runs that have not ended needs one")
	n, err := checkpoint.Prune(t.Context(), s, checkpoint.Retention{Ended: 1})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = checkpoint.Forget(t.Context(), bare{m}, inDefault("r"))
	require.EqualError(t, err, "checkpoint: the store is no Lister: Forget needs one")
	_, err = checkpoint.Forget(t.Context(), listing{bare{m}, m}, inDefault("r"))
	require.EqualError(t, err, "checkpoint: the store is no Pruner: Forget needs one")
	_, err = checkpoint.Forget(t.Context(), s, inDefault("r"))
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	put(t, m, inDefault("r"), checkpoint.Header{Status: checkpoint.StatusRunning})
	_, err = checkpoint.Forget(t.Context(), s, inDefault("r"))
	require.NoError(t, err, "without leases nobody can say who works on it")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = checkpoint.Prune(done, m, checkpoint.Retention{Ended: 1})
	require.ErrorIs(t, err, context.Canceled)
}
