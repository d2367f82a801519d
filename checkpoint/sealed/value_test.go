package sealed_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/sealed"
)

func put(t *testing.T, s checkpoint.Store, key checkpoint.Key, id string, data []byte) {
	t.Helper()
	v, ok := checkpoint.As[checkpoint.ValueStore](s)
	require.True(t, ok)
	require.NoError(t, v.PutValue(t.Context(), key, id, data))
}

func ranged(t *testing.T, s checkpoint.Store, key checkpoint.Key, id string, offset int64, length int) ([]byte, error) {
	t.Helper()
	v, ok := checkpoint.As[checkpoint.ValueStore](s)
	require.True(t, ok)
	data, _, err := v.ReadValue(t.Context(), key, id, offset, length)
	return data, err
}

// withValues is a store with no other ability.
type withValues struct{ plainStore }

func (s withValues) PutValue(ctx context.Context, key checkpoint.Key, id string, data []byte) error {
	return s.m.PutValue(ctx, key, id, data)
}

func (s withValues) ReadValue(ctx context.Context, key checkpoint.Key, id string, offset int64, length int) ([]byte, int64, error) {
	return s.m.ReadValue(ctx, key, id, offset, length)
}

func (s withValues) Values(ctx context.Context, key checkpoint.Key) ([]checkpoint.Value, error) {
	return s.m.Values(ctx, key)
}

// A value that was changed, cut, moved or never sealed is refused, wherever it is read.
func TestValue_isBoundToItsPlace(t *testing.T) {
	inner := new(checkpoint.Memory)
	s := seal(t, inner, sealed.Keys{Current: newKey(t, "k"), ReadPlain: true})
	other := checkpoint.Key{Run: "other"}
	write(t, s, run, 1, "a")
	write(t, s, other, 1, "a")
	want := bytes.Repeat([]byte(canary), 20_000)
	put(t, s, run, "a", want)
	raw, err := ranged(t, inner, run, "a", 0, 1<<30)
	require.NoError(t, err)
	require.NotContains(t, string(raw), canary)
	require.NotContains(t, string(raw), canary[:9])
	got, err := ranged(t, s, run, "a", 100_000, 70_000)
	require.NoError(t, err)
	require.Equal(t, want[100_000:170_000], got)

	segment := 64<<10 + 4 + 2 + 1 + 28
	swapped := append(append(bytes.Clone(raw[segment:2*segment]), raw[:segment]...), raw[2*segment:]...)
	changed := bytes.Clone(raw)
	changed[segment+100] ^= 1
	for name, x := range map[string]struct {
		key  checkpoint.Key
		id   string
		data []byte
	}{
		"another run": {other, "a", raw}, "another value": {run, "b", raw}, "two swapped": {run, "c", swapped}, "a byte": {run, "d", changed},
		"cut at a segment": {run, "e", raw[:2*segment]}, "cut within one": {run, "f", raw[:2*segment+50]}, "cut in a head": {run, "g", raw[:2*segment+5]},
		"longer": {run, "h", append(bytes.Clone(raw), 'x')}, "plain": {run, "i", want}, "nothing": {run, "j", nil}, "the first bytes": {run, "k", raw[:20]},
	} {
		t.Run(name, func(t *testing.T) {
			put(t, inner, x.key, x.id, x.data)
			_, err := ranged(t, s, x.key, x.id, 0, 1<<30)
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			require.ErrorContains(t, err, "value \""+x.id+"\"")
			require.NotContains(t, err.Error(), canary)
			if name != "a byte" { // the first segment is as it was
				_, err = ranged(t, s, x.key, x.id, 10, 0)
				require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			}
		})
	}
}

// Values are read with the key that they were sealed with, and put anew with another one they stay.
func TestValue_otherKeys(t *testing.T) {
	inner, first, second := new(checkpoint.Memory), newKey(t, "2025"), newKey(t, "2026-longer")
	write(t, seal(t, inner, sealed.Keys{Current: first}), run, 1, "a")
	want := []byte(strings.Repeat("text ", 40_000))
	put(t, seal(t, inner, sealed.Keys{Current: first}), run, "a", want)
	both := seal(t, inner, sealed.Keys{Current: second, Old: []sealed.Key{first}})
	put(t, both, run, "a", want)
	put(t, both, run, "b", want)
	for _, id := range []string{"a", "b"} {
		got, err := ranged(t, both, run, id, 65_000, 2000)
		require.NoError(t, err)
		require.Equal(t, want[65_000:67_000], got)
	}
	v, _ := checkpoint.As[checkpoint.ValueStore](both)
	list, err := v.Values(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, []checkpoint.Value{{ID: "a", Size: 200_000}, {ID: "b", Size: 200_000}}, list)
	_, err = ranged(t, seal(t, inner, sealed.Keys{Current: second}), run, "a", 0, 9)
	require.ErrorIs(t, err, sealed.ErrNoKey)
}
