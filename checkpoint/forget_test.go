package checkpoint_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// forkOf is the header of a run that was made from another.
func forkOf(run string, status checkpoint.Status) checkpoint.Header {
	return checkpoint.Header{Status: status, Origin: checkpoint.Origin{Run: run, Record: 1}}
}

func spaced(runs ...string) (keys []checkpoint.Key) {
	for _, run := range runs {
		keys = append(keys, checkpoint.Key{Namespace: "n", Run: run})
	}
	return keys
}

// family stores a run "c" with its ancestors "a" and "b", its forks, theirs, and others.
func family(t *testing.T) *checkpoint.Memory {
	t.Helper()
	m := new(checkpoint.Memory)
	for _, r := range [][2]string{{"a", ""}, {"b", "a"}, {"c", "b"}, {"d", "c"}, {"e", "d"}, {"f", "c"}, {"g", "b"}, {"h", ""}} {
		put(t, m, checkpoint.Key{Namespace: "n", Run: r[0]}, forkOf(r[1], checkpoint.StatusDone))
	}
	put(t, m, checkpoint.Key{Namespace: "other", Run: "d"}, forkOf("c", checkpoint.StatusDone))
	for i := range 3 {
		require.NoError(t, m.Post(t.Context(), checkpoint.Message{ID: fmt.Sprint(i), Key: spaced("e")[0]}))
	}
	return m
}

// vacuumed counts how often a store was vacuumed.
type vacuumed struct {
	*checkpoint.Memory
	times int
}

func (v *vacuumed) Vacuum(ctx context.Context) error {
	v.times++
	return v.Memory.Vacuum(ctx)
}

func TestForget(t *testing.T) {
	m := &vacuumed{Memory: family(t)}
	got, err := checkpoint.Forget(t.Context(), m, spaced("c")[0])
	require.NoError(t, err)
	require.ElementsMatch(t, spaced("c", "d", "e", "f"), got.Runs)
	require.Equal(t, spaced("c")[0], got.Runs[0])
	require.Equal(t, 4, got.Records)
	require.Equal(t, 3, got.Messages)
	require.Equal(t, spaced("b", "a"), got.Origins)
	require.NotEmpty(t, got.Beyond)
	require.Equal(t, 1, m.times)
	require.Equal(t, []string{"a", "b", "d", "g", "h"}, runs(t, m.Memory), "another namespace is another matter")
	posted, err := m.Posted(t.Context(), spaced("e")...)
	require.NoError(t, err)
	require.Empty(t, posted)

	_, err = checkpoint.Forget(t.Context(), m, spaced("c")[0])
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = checkpoint.Forget(t.Context(), m, checkpoint.Key{})
	require.ErrorIs(t, err, checkpoint.ErrID)
}

// Forks of a run that was deleted before are found all the same.
func TestForget_ofADeletedRun(t *testing.T) {
	m := family(t)
	require.NoError(t, m.Delete(t.Context(), spaced("c")...))
	got, err := checkpoint.Forget(t.Context(), m, spaced("c")[0])
	require.NoError(t, err)
	require.ElementsMatch(t, spaced("d", "e", "f"), got.Runs)
}

// Origins that form a circle, as damage may leave them, end.
func TestForget_circle(t *testing.T) {
	m := new(checkpoint.Memory)
	put(t, m, inDefault("a"), forkOf("b", checkpoint.StatusDone))
	put(t, m, inDefault("b"), forkOf("a", checkpoint.StatusDone))
	put(t, m, inDefault("c"), forkOf("c", checkpoint.StatusDone))
	got, err := checkpoint.Forget(t.Context(), m, inDefault("a"))
	require.NoError(t, err)
	require.Len(t, got.Runs, 2)
	got, err = checkpoint.Forget(t.Context(), m, inDefault("c"))
	require.NoError(t, err)
	require.Len(t, got.Runs, 1)
}

// As long as somebody works on one of the runs, none is erased, and the leases that were taken are
// given back.
func TestForget_ofARunInUse(t *testing.T) {
	m := new(checkpoint.Memory)
	put(t, m, inDefault("a"), forkOf("", checkpoint.StatusWaiting))
	put(t, m, inDefault("b"), forkOf("a", checkpoint.StatusRunning))
	_, err := m.Lease(t.Context(), inDefault("b"), "alive", time.Minute)
	require.NoError(t, err)
	got, err := checkpoint.Forget(t.Context(), m, inDefault("a"))
	require.ErrorIs(t, err, checkpoint.ErrLeased)
	require.ErrorContains(t, err, `run "b"`)
	require.Empty(t, got.Runs)
	require.Equal(t, []string{"a", "b"}, runs(t, m))
	head, err := m.Head(t.Context(), inDefault("a"))
	require.NoError(t, err)
	require.Zero(t, head.Lease)
	_, err = m.Lease(t.Context(), inDefault("b"), "alive", 0)
	require.NoError(t, err)
	_, err = checkpoint.Forget(t.Context(), m, inDefault("a"))
	require.NoError(t, err)
	require.Empty(t, runs(t, m))
}

// forking is a store in which somebody forks a run while it is deleted.
type forking struct {
	*checkpoint.Memory
	t    *testing.T
	left int
}

func (f *forking) Delete(ctx context.Context, keys ...checkpoint.Key) error {
	for _, key := range keys {
		if f.left > 0 {
			f.left--
			put(f.t, f.Memory, checkpoint.Key{Run: key.Run + "'"}, forkOf(key.Run, checkpoint.StatusRunning))
		}
	}
	return f.Memory.Delete(ctx, keys...)
}

func TestForget_besideForks(t *testing.T) {
	m := new(checkpoint.Memory)
	put(t, m, inDefault("a"), forkOf("", checkpoint.StatusDone))
	got, err := checkpoint.Forget(t.Context(), &forking{m, t, 3}, inDefault("a"))
	require.NoError(t, err)
	require.Len(t, got.Runs, 4)
	require.Empty(t, runs(t, m))
}
