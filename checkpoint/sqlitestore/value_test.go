package sqlitestore_test

import (
	"bytes"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/checkpoint"
)

// Each way to damage a value is told by name, and the run can be deleted.
func TestCorrupt_values(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 20_000)
	for name, damage := range map[string]string{
		"a byte":       "UPDATE value_parts SET data = cast(x'00' || substr(data, 2) AS BLOB) WHERE part = 1 AND run = 1",
		"a part less":  "DELETE FROM value_parts WHERE part = 1 AND run = 1",
		"the last one": "DELETE FROM value_parts WHERE part = 3 AND run = 1",
		"two swapped":  "UPDATE value_parts SET part = 9 WHERE part = 1 AND run = 1; UPDATE value_parts SET part = 1 WHERE part = 2 AND run = 1; UPDATE value_parts SET part = 2 WHERE part = 9 AND run = 1",
		"another's":    "DELETE FROM value_parts WHERE run = 1; UPDATE value_parts SET run = 1",
		"the size":     "UPDATE run_values SET size = 5 WHERE run = 1",
		"the sum":      "UPDATE run_values SET sum = 5 WHERE run = 1",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			s := open(t, path)
			for _, run := range []string{"r", "other"} {
				require.NoError(t, s.Append(t.Context(), first(run, "1")))
				require.NoError(t, s.PutValue(t.Context(), key(run), "v", want))
			}
			raw(t, path, damage)
			_, _, err := s.ReadValue(t.Context(), key("r"), "v", 0, len(want))
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			require.ErrorContains(t, err, `run "r"`)
			require.ErrorContains(t, err, `value "v"`)
			data, err := journal(t.Context(), s, "r")
			require.NoError(t, err)
			require.Equal(t, []string{"1"}, data)
			require.NoError(t, s.Delete(t.Context(), key("r")))
			_, _, err = s.ReadValue(t.Context(), key("r"), "v", 0, 1)
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
			require.NotErrorIs(t, err, checkpoint.ErrCorrupt)
		})
	}
}

// A range of a large value does not cost the whole.
func TestReadValue_readsLittle(t *testing.T) {
	s := fresh(t)
	require.NoError(t, s.Append(t.Context(), first("r", "1")))
	require.NoError(t, s.PutValue(t.Context(), key("r"), "v", bytes.Repeat([]byte("0123456789"), 1<<20)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range int64(20) {
		data, size, err := s.ReadValue(t.Context(), key("r"), "v", i*500_000, 20)
		require.NoError(t, err)
		require.Equal(t, "01234567890123456789", string(data))
		require.EqualValues(t, 10<<20, size)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "all of it would be 200 MiB")
}
