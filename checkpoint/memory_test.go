package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory_Conformance(t *testing.T) {
	checkpointtest.Test(t, func(*testing.T) checkpoint.Store { return new(checkpoint.Memory) })
}

// batch returns what a writer appends to a run.
func batch(run string, records ...checkpoint.Record) checkpoint.Batch {
	return checkpoint.Batch{
		Key: checkpoint.Key{Run: run}, Records: records, Header: &checkpoint.Header{Status: checkpoint.StatusRunning}, Writer: "w", Epoch: 1,
	}
}

// runs returns the ids of all runs, in order.
func runs(t *testing.T, m *checkpoint.Memory) (ids []string) {
	t.Helper()
	page, err := m.List(t.Context(), checkpoint.Query{All: true})
	require.NoError(t, err)
	for _, h := range page.Heads {
		ids = append(ids, h.Key.Run)
	}
	slices.Sort(ids)
	return ids
}

func rec(seq int, data string) checkpoint.Record {
	return checkpoint.Record{Seq: seq, Data: []byte(data)}
}

func TestMemory_Errors(t *testing.T) {
	var m checkpoint.Memory
	ctx := t.Context()
	require.NoError(t, m.Append(ctx, batch("r", rec(1, "1"), rec(2, "2"))))

	err := m.Append(ctx, batch("r", rec(3, "3"), rec(5, "5")))
	require.Equal(t, &checkpoint.Error{Kind: checkpoint.ErrConflict, Key: checkpoint.Key{Run: "r"}, Record: 5, Problem: "the next record is 4"}, err)
	require.EqualError(t, err, `checkpoint: run "r": record 5: this does not follow what the run has: the next record is 4 `+
		`(another process writes this run, it was begun anew, or it was not read to its end)`)
	require.ErrorIs(t, err, checkpoint.ErrConflict)

	for r, err := range m.Read(ctx, checkpoint.Key{Run: "s"}, 1) {
		require.Zero(t, r)
		require.Equal(t, &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: checkpoint.Key{Run: "s"}}, err)
		require.EqualError(t, err, `checkpoint: run "s": it is not there (it was never stored here, or has been deleted)`)
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
	}
	require.ErrorIs(t, m.Append(ctx, batch("")), checkpoint.ErrID)

	done, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("mine"))
	require.EqualError(t, m.Append(done, batch("r", rec(3, "3"))), `checkpoint: run "r": context canceled`)
}

// What cannot be the id of a run is refused, by a text that shows no more than its beginning.
func TestMemory_RunIDs(t *testing.T) {
	var m checkpoint.Memory
	for id, want := range map[string]string{
		strings.Repeat("x", 513): `checkpoint: run "` + strings.Repeat("x", 64) + `": the id is not valid: it has 513 bytes, and may have 512`,
		"a\xff":                  `checkpoint: run "a\xff": the id is not valid: it is not UTF-8`,
		"a\x00":                  `checkpoint: run "a\x00": the id is not valid: it holds a NUL`,
	} {
		err := m.Append(t.Context(), batch(id, rec(1, "1")))
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, checkpoint.ErrID)
		require.Equal(t, err, checkpoint.Key{Run: id}.Check())
	}
	require.ErrorIs(t, checkpoint.Key{}.Check(), checkpoint.ErrID)
	require.NoError(t, checkpoint.Key{Run: strings.Repeat("x", checkpoint.MaxRunID)}.Check())
	require.Empty(t, runs(t, &m))
}

// What a range yields is the run as it was when it began.
func TestMemory_ReadIsASnapshot(t *testing.T) {
	var m checkpoint.Memory
	ctx := t.Context()
	require.NoError(t, m.Append(ctx, batch("r", rec(1, "a"), rec(2, "b"), rec(3, "c"))))
	var got string
	for r, err := range m.Read(ctx, checkpoint.Key{Run: "r"}, 1) {
		require.NoError(t, err)
		got += string(r.Data)
		if r.Seq == 1 {
			require.NoError(t, m.Append(ctx, batch("r", rec(4, "d"))))
			require.NoError(t, m.Delete(ctx, checkpoint.Key{Run: "r"}))
			require.NoError(t, m.Append(ctx, batch("r", rec(1, "x"), rec(2, "y"))))
		}
	}
	require.Equal(t, "abc", got)
}

func TestMemory_Runs(t *testing.T) {
	var m checkpoint.Memory
	require.Empty(t, runs(t, &m))
	for _, run := range []string{"b", "c", "a"} {
		require.NoError(t, m.Append(t.Context(), batch(run, rec(1, ""))))
	}
	require.ErrorIs(t, m.Append(t.Context(), batch("none")), checkpoint.ErrNotFound)
	require.NoError(t, m.Delete(t.Context(), checkpoint.Key{Run: "b"}))
	require.Equal(t, []string{"a", "c"}, runs(t, &m))
}

// 10,000 runs with a few records cost little more than their bytes and a Head.
func TestMemory_IsLean(t *testing.T) {
	const runs, records = 10_000, 4
	data := []byte(`{"v":1,"type":"answer","seq":1,"frame":"0","kind":"get_chat_completion"}`)
	m := new(checkpoint.Memory)
	before := heap()
	payload := 0
	for i := range runs {
		id := fmt.Sprintf("0197b5a8-1c52-7e7b-9f43-%012d", i)
		payload += len(id) + records*len(data)
		for seq := 1; seq <= records; seq++ {
			require.NoError(t, m.Append(t.Context(), batch(id, checkpoint.Record{Seq: seq, Data: data})))
		}
	}
	perRun := float64(int(heap()-before)-payload) / runs
	runtime.KeepAlive(m)
	t.Logf("%.0f bytes a run beyond its own", perRun)
	require.Less(t, perRun, 700.0)
	require.Positive(t, perRun, "the runs were still there")
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

func BenchmarkMemoryAppend(b *testing.B) {
	var m checkpoint.Memory
	data := []byte(strings.Repeat("x", 400))
	records := make([]checkpoint.Record, 1)
	ctx := context.Background()
	b.ReportAllocs()
	for seq := 0; b.Loop(); {
		if seq == 10_000 {
			seq = 0
			_ = m.Delete(ctx, checkpoint.Key{Run: "r"})
		}
		seq++
		records[0] = checkpoint.Record{Seq: seq, Data: data}
		if err := m.Append(ctx, batch("r", records...)); err != nil {
			b.Fatal(err)
		}
	}
}

// What other stores are compared with is told here.
func TestMemory_SnapshotsAndValues(t *testing.T) {
	var m checkpoint.Memory
	ctx, key := t.Context(), checkpoint.Key{Run: "r"}
	require.NoError(t, m.Append(ctx, batch("r", rec(1, "1"), rec(2, "2"))))
	for _, text := range []string{"earlier", "later"} {
		require.NoError(t, m.SaveSnapshot(ctx, key, checkpoint.Snapshot{Records: 2, Data: []byte(text)}))
	}
	s, err := m.Snapshot(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "later", string(s.Data))
	for _, id := range []string{"", "a b", "ä", "\x00", strings.Repeat("x", 65)} {
		require.ErrorIs(t, m.PutValue(ctx, key, id, nil), checkpoint.ErrID)
	}
	require.NoError(t, m.PutValue(ctx, key, "a", []byte("0123")))
	for _, part := range []struct {
		offset int64
		length int
		want   string
	}{{0, 4, "0123"}, {-5, 1, "0"}, {1, 2, "12"}, {3, 9, "3"}, {1, 0, ""}, {1, -1, ""}, {4, 1, ""}, {1 << 40, 1, ""}} {
		got, size, err := m.ReadValue(ctx, key, "a", part.offset, part.length)
		require.NoError(t, err)
		require.Equal(t, int64(4), size)
		require.Equal(t, part.want, string(got), part)
	}
}
