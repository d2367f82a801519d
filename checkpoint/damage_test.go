package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// damaged is a store in which heads of runs are damaged.
type damaged struct {
	*checkpoint.Memory
	runs  []string
	fails error // of the second page of a list
}

func (d *damaged) of(key checkpoint.Key) error {
	if slices.Contains(d.runs, key.Run) {
		return fmt.Errorf("run %q: %w", key.Run, checkpoint.ErrCorrupt)
	}
	return nil
}

func (d *damaged) Head(ctx context.Context, key checkpoint.Key) (checkpoint.Head, error) {
	if err := d.of(key); err != nil {
		return checkpoint.Head{}, err
	}
	return d.Memory.Head(ctx, key)
}

func (d *damaged) Lease(ctx context.Context, key checkpoint.Key, writer string, time time.Duration) (checkpoint.Head, error) {
	if err := d.of(key); err != nil {
		return checkpoint.Head{}, err
	}
	return d.Memory.Lease(ctx, key, writer, time)
}

func (d *damaged) List(ctx context.Context, q checkpoint.Query) (checkpoint.Page, error) {
	if d.fails != nil && !q.After.IsZero() {
		return checkpoint.Page{}, d.fails
	}
	page, err := d.Memory.List(ctx, q)
	whole, problems := checkpoint.Page{Next: page.Next}, []error{err}
	for _, h := range page.Heads {
		if err := d.of(h.Key); err != nil {
			problems = append(problems, err)
			continue
		}
		whole.Heads = append(whole.Heads, h)
	}
	return whole, errors.Join(problems...)
}

// Heads yields what there is beside damaged heads, and names these last. After another error there
// is nothing more.
func TestHeads_besideDamage(t *testing.T) {
	m := new(checkpoint.Memory)
	for _, run := range []string{"a", "b", "c", "d", "e"} {
		put(t, m, inDefault(run), checkpoint.Header{})
	}
	d := &damaged{Memory: m, runs: []string{"b", "d"}}
	heads := func() (found []string, err error) {
		for h, wrong := range checkpoint.Heads(t.Context(), d, checkpoint.Query{Limit: 2}) {
			require.NoError(t, err, "it comes last")
			if err = wrong; err == nil {
				found = append(found, h.Key.Run)
			}
		}
		slices.Sort(found)
		return found, err
	}
	found, err := heads()
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.ErrorContains(t, err, `run "b"`)
	require.ErrorContains(t, err, `run "d"`)
	require.Equal(t, []string{"a", "c", "e"}, found)

	d.fails = errors.New("the disk is gone")
	found, err = heads()
	require.ErrorIs(t, err, d.fails)
	require.NotErrorIs(t, err, checkpoint.ErrCorrupt, "or else the list would seem to lack damaged heads alone")
	require.Len(t, found, 1)
	d.runs, d.fails = nil, nil
	found, err = heads()
	require.NoError(t, err)
	require.Len(t, found, 5)
	for range checkpoint.Heads(t.Context(), d, checkpoint.Query{}) {
		break
	}
}

// A damaged head keeps no other run from being deleted, whatever its status.
func TestPrune_besideDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(checkpoint.Memory)
		for _, run := range []string{"a", "damaged", "b"} {
			put(t, m, inDefault(run), checkpoint.Header{Status: checkpoint.StatusDone})
			put(t, m, inDefault(run+" waiting"), checkpoint.Header{Status: checkpoint.StatusWaiting})
		}
		time.Sleep(2 * day)
		d := &damaged{Memory: m, runs: []string{"damaged", "damaged waiting"}}
		n, err := checkpoint.Prune(t.Context(), d, checkpoint.Retention{Ended: day, Waiting: day})
		require.ErrorIs(t, err, checkpoint.ErrCorrupt)
		require.ErrorContains(t, err, `run "damaged"`)
		require.ErrorContains(t, err, `run "damaged waiting"`)
		require.Equal(t, 4, n)
		require.Equal(t, []string{"damaged", "damaged waiting"}, runs(t, m))
	})
}

// Of a family, a fork with a damaged head stays and is named; asked for by its id it is erased.
func TestForget_besideDamage(t *testing.T) {
	m := new(checkpoint.Memory)
	put(t, m, inDefault("a"), forkOf("", checkpoint.StatusDone))
	put(t, m, inDefault("b"), forkOf("a", checkpoint.StatusWaiting))
	put(t, m, inDefault("damaged"), forkOf("a", checkpoint.StatusWaiting))
	put(t, m, inDefault("c"), forkOf("damaged", checkpoint.StatusDone))
	d := &damaged{Memory: m, runs: []string{"damaged"}}
	got, err := checkpoint.Forget(t.Context(), d, inDefault("a"))
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.ErrorContains(t, err, `run "damaged"`)
	require.ElementsMatch(t, []checkpoint.Key{inDefault("a"), inDefault("b")}, got.Runs)
	require.Equal(t, []string{"c", "damaged"}, runs(t, m))

	got, err = checkpoint.Forget(t.Context(), d, inDefault("damaged"))
	require.NoError(t, err)
	require.Len(t, got.Runs, 2)
	require.Empty(t, runs(t, m))

	put(t, m, inDefault("damaged"), forkOf("a", checkpoint.StatusWaiting))
	put(t, m, inDefault("c"), forkOf("damaged", checkpoint.StatusDone))
	got, err = checkpoint.Forget(t.Context(), d, inDefault("c"))
	require.NoError(t, err)
	require.Equal(t, []checkpoint.Key{inDefault("damaged")}, got.Origins)
}
