package sealed_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
)

// seen returns the snapshot of a run.
func seen(t *testing.T, s checkpoint.Store, key checkpoint.Key) (checkpoint.Snapshot, error) {
	t.Helper()
	k, ok := checkpoint.As[checkpoint.SnapshotStore](s)
	require.True(t, ok)
	return k.Snapshot(t.Context(), key)
}

func snap(t *testing.T, s checkpoint.Store, key checkpoint.Key, records int, data string) {
	t.Helper()
	k, ok := checkpoint.As[checkpoint.SnapshotStore](s)
	require.True(t, ok)
	require.NoError(t, k.SaveSnapshot(t.Context(), key, checkpoint.Snapshot{Records: records, Data: []byte(data)}))
}

// A snapshot is sealed for its run and its number of records. One that is not sealed is refused,
// even where records that are not sealed are taken.
func TestSnapshot(t *testing.T) {
	inner, key := new(checkpoint.Memory), newKey(t, "k")
	s := seal(t, inner, sealed.Keys{Current: key})
	other := checkpoint.Key{Namespace: "shop", Run: "other"}
	for _, run := range []checkpoint.Key{run, other} {
		write(t, s, run, 1, "a", "b", "c")
	}
	snap(t, s, run, 2, canary)
	raw, err := seen(t, inner, run)
	require.NoError(t, err)
	require.Equal(t, 2, raw.Records)
	require.NotContains(t, string(raw.Data), canary)
	got, err := seen(t, s, run)
	require.NoError(t, err)
	require.Equal(t, checkpoint.Snapshot{Records: 2, Data: []byte(canary)}, got)

	records, err := texts(inner, run, 2)
	require.NoError(t, err)
	for name, forged := range map[string]struct {
		key     checkpoint.Key
		records int
		data    string
		want    error
	}{
		"another run":              {other, 2, string(raw.Data), sealed.ErrForged},
		"another number":           {run, 3, string(raw.Data), sealed.ErrForged},
		"a record":                 {other, 2, records[0], sealed.ErrForged},
		"changed":                  {run, 3, string(raw.Data[:len(raw.Data)-1]), sealed.ErrForged},
		"not sealed":               {run, 3, `{"state":1}`, sealed.ErrPlain},
		"not sealed, of other run": {other, 2, `{"state":1}`, sealed.ErrPlain},
	} {
		t.Run(name, func(t *testing.T) {
			snap(t, inner, forged.key, forged.records, forged.data)
			for _, plain := range []bool{false, true} {
				_, err := seen(t, seal(t, inner, sealed.Keys{Current: key, ReadPlain: plain}), forged.key)
				require.ErrorIs(t, err, forged.want)
				require.ErrorContains(t, err, fmt.Sprintf("run %q, snapshot of %d records", forged.key, forged.records))
			}
		})
	}
	snap(t, s, run, 3, "state")
	got, err = seen(t, s, run)
	require.NoError(t, err)
	require.Equal(t, "state", string(got.Data))

	rotated := seal(t, inner, sealed.Keys{Current: newKey(t, "new"), Old: []sealed.Key{key}})
	snap(t, rotated, run, 3, "state")
	_, err = seen(t, s, run)
	require.ErrorIs(t, err, sealed.ErrNoKey)
}

// withSnapshots is a store with no other ability.
type withSnapshots struct{ plainStore }

func (s withSnapshots) SaveSnapshot(ctx context.Context, key checkpoint.Key, snapshot checkpoint.Snapshot) error {
	return s.m.SaveSnapshot(ctx, key, snapshot)
}

func (s withSnapshots) Snapshot(ctx context.Context, key checkpoint.Key) (checkpoint.Snapshot, error) {
	return s.m.Snapshot(ctx, key)
}

// withInbox is a store with no other ability.
type withInbox struct{ plainStore }

func (s withInbox) Post(ctx context.Context, m checkpoint.Message) error { return s.m.Post(ctx, m) }

func (s withInbox) Posted(ctx context.Context, keys ...checkpoint.Key) ([]checkpoint.Message, error) {
	return s.m.Posted(ctx, keys...)
}

// A store has the abilities of the one behind it, each of them sealed.
func TestNew_sealsEachAbility(t *testing.T) {
	for name, x := range map[string]struct {
		open                     func(*checkpoint.Memory) checkpoint.Store
		inbox, snapshots, values bool
	}{
		"none":      {func(m *checkpoint.Memory) checkpoint.Store { return plainStore{m} }, false, false, false},
		"inbox":     {func(m *checkpoint.Memory) checkpoint.Store { return withInbox{plainStore{m}} }, true, false, false},
		"snapshots": {func(m *checkpoint.Memory) checkpoint.Store { return withSnapshots{plainStore{m}} }, false, true, false},
		"values":    {func(m *checkpoint.Memory) checkpoint.Store { return withValues{plainStore{m}} }, false, false, true},
		"all":       {func(m *checkpoint.Memory) checkpoint.Store { return m }, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			inner := new(checkpoint.Memory)
			s := seal(t, x.open(inner), sealed.Keys{Current: newKey(t, "k")})
			_, inbox := checkpoint.As[checkpoint.Inbox](s)
			_, snapshots := checkpoint.As[checkpoint.SnapshotStore](s)
			_, values := checkpoint.As[checkpoint.ValueStore](s)
			require.Equal(t, []bool{x.inbox, x.snapshots, x.values}, []bool{inbox, snapshots, values})
			write(t, s, run, 1, "a")
			if x.inbox {
				post(t, s, run, "m", canary)
				raw, err := posted(t, inner, run)
				require.NoError(t, err)
				require.NotContains(t, raw[0], canary)
			}
			if x.snapshots {
				snap(t, s, run, 1, canary)
				raw, err := seen(t, inner, run)
				require.NoError(t, err)
				require.NotContains(t, string(raw.Data), canary)
			}
			if x.values {
				put(t, s, run, "a", []byte(canary))
				raw, err := ranged(t, inner, run, "a", 0, 1000)
				require.NoError(t, err)
				require.NotContains(t, string(raw), canary)
			}
		})
	}
}
