package checkpointtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/checkpointtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	record  = checkpoint.Record
	records = iter.Seq2[checkpoint.Record, error]
	memory  = checkpoint.Memory
)

// flaws are methods to be used instead of those of a Memory, where they are given.
type flaws struct {
	append func(ctx context.Context, m *memory, b checkpoint.Batch) error
	read   func(ctx context.Context, m *memory, key checkpoint.Key, from int) records
	delete func(ctx context.Context, m *memory, keys []checkpoint.Key) error
}

type store struct {
	memory
	flaws
}

func (s *store) Append(ctx context.Context, b checkpoint.Batch) error {
	if s.append != nil {
		return s.append(ctx, &s.memory, b)
	}
	return s.memory.Append(ctx, b)
}

func (s *store) Read(ctx context.Context, key checkpoint.Key, from int) records {
	if s.read != nil {
		return s.read(ctx, &s.memory, key, from)
	}
	return s.memory.Read(ctx, key, from)
}

func (s *store) Delete(ctx context.Context, keys ...checkpoint.Key) error {
	if s.delete != nil {
		return s.delete(ctx, &s.memory, keys)
	}
	return s.memory.Delete(ctx, keys...)
}

// last returns the place of the last record.
func last(m *memory, key checkpoint.Key) (seq int) {
	for r := range m.Read(context.Background(), key, 1) {
		seq = r.Seq
	}
	return seq
}

// renumbers puts records where there is room.
func renumbers(ctx context.Context, m *memory, b checkpoint.Batch) error {
	b.Records = slices.Clone(b.Records)
	for i := range b.Records {
		b.Records[i].Seq = last(m, b.Key) + 1 + i
	}
	return m.Append(ctx, b)
}

// appendsInPart keeps the records before one that conflicts.
func appendsInPart(ctx context.Context, m *memory, b checkpoint.Batch) error {
	for _, r := range b.Records {
		part := b
		part.Records = []record{r}
		if err := m.Append(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// looksThenLeaps lets everybody succeed who saw room.
func looksThenLeaps(ctx context.Context, m *memory, b checkpoint.Batch) error {
	room := len(b.Records) > 0 && b.Records[0].Seq == last(m, b.Key)+1
	time.Sleep(time.Millisecond)
	err := m.Append(ctx, b)
	if room && errors.Is(err, checkpoint.ErrConflict) {
		return nil
	}
	return err
}

// wrapsNothing makes texts of errors.
func wrapsNothing(ctx context.Context, m *memory, b checkpoint.Batch) error {
	if err := m.Append(ctx, b); err != nil {
		return fmt.Errorf("it failed: %s", err.Error())
	}
	return nil
}

// edits keeps something else than it is given.
func edits(edit func(string) string) flaws {
	return flaws{append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
		b.Records = slices.Clone(b.Records)
		for i := range b.Records {
			b.Records[i].Data = []byte(edit(string(b.Records[i].Data)))
		}
		return m.Append(ctx, b)
	}}
}

// renames takes several ids for one.
func renames(rename func(string) string) flaws {
	return flaws{
		append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
			b.Key.Run = rename(b.Key.Run)
			return m.Append(ctx, b)
		},
		read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			key.Run = rename(key.Run)
			return m.Read(ctx, key, from)
		},
	}
}

// keepsSlices is a store that holds what it was handed; where own is true it hands that out, too.
func keepsSlices(own bool) flaws {
	kept := map[*memory][]record{} // for checks of one run and one goroutine
	return flaws{
		append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
			err := m.Append(ctx, b)
			if err == nil {
				kept[m] = append(kept[m], b.Records...)
			}
			return err
		},
		read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			return filtered(m.Read(ctx, key, from), func(r record) record {
				r = kept[m][r.Seq-1]
				if !own {
					r.Data = bytes.Clone(r.Data)
				}
				return r
			})
		},
	}
}

// sharesBuffer is a Read that hands out one buffer again and again.
func sharesBuffer(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
	var buffer []byte
	return filtered(m.Read(ctx, key, from), func(r record) record {
		buffer = append(buffer[:0], r.Data...)
		r.Data = buffer
		return r
	})
}

func filtered(all records, f func(record) record) records {
	return func(yield func(record, error) bool) {
		for r, err := range all {
			if err == nil {
				r = f(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// findsAnything is a Read of which a run without records is an empty one.
func findsAnything(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
	return func(yield func(record, error) bool) {
		for r, err := range m.Read(ctx, key, from) {
			if errors.Is(err, checkpoint.ErrNotFound) || !yield(r, err) {
				return
			}
		}
	}
}

// readsOnce is a Read whose sequence is good for one range.
func readsOnce(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
	used := false
	return func(yield func(record, error) bool) {
		if !used {
			used = true
			m.Read(ctx, key, from)(yield)
		}
	}
}

// locks is a store that nobody can write while it is read.
func locks() flaws {
	lock := make(chan struct{}, 1)
	return flaws{
		append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
			select {
			case lock <- struct{}{}:
				defer func() { <-lock }()
				return m.Append(ctx, b)
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			return func(yield func(record, error) bool) {
				lock <- struct{}{}
				defer func() { <-lock }()
				m.Read(ctx, key, from)(yield)
			}
		},
	}
}

func forgetsAll(ctx context.Context, m *memory, _ []checkpoint.Key) error {
	all, err := m.List(ctx, checkpoint.Query{All: true, Limit: 1000})
	for _, h := range all.Heads {
		err = errors.Join(err, m.Delete(ctx, h.Key))
	}
	return err
}

// brokenStore is what is wrong with a store, and which checks find it out.
type brokenStore struct {
	flaws flaws
	want  []string
}

func brokenStores() map[string]brokenStore {
	return map[string]brokenStore{
		"renumbers":       {flaws{append: renumbers}, []string{"conflict", "conflict within a batch", "delete"}},
		"appends in part": {flaws{append: appendsInPart}, []string{"conflict within a batch"}},
		"looks, leaps":    {flaws{append: looksThenLeaps}, []string{"one of many wins"}},
		"wraps nothing":   {flaws{append: wrapsNothing}, []string{"conflict", "done context", "no records", "no run id", "one of many wins"}},
		"compacts JSON": {edits(func(data string) string {
			var b bytes.Buffer
			if json.Compact(&b, []byte(data)) != nil {
				return data
			}
			return b.String()
		}), []string{"bytes are kept"}},
		"ends at NUL":     {edits(func(data string) string { before, _, _ := strings.Cut(data, "\x00"); return before }), []string{"bytes are kept"}},
		"keeps UTF-8":     {edits(func(data string) string { return strings.ToValidUTF8(data, "?") }), []string{"bytes are kept"}},
		"cuts data":       {edits(func(data string) string { return data[:min(len(data), 1<<16)] }), []string{"large records"}},
		"lower-case ids":  {renames(strings.ToLower), []string{"runs are apart", "no run id"}},
		"trims ids":       {renames(strings.TrimSpace), []string{"runs are apart"}},
		"cuts ids":        {renames(func(id string) string { return id[:min(len(id), 255)] }), []string{"runs are apart"}},
		"takes any id":    {renames(hashed), []string{"no run id"}},
		"repairs ids":     {renames(repaired), []string{"no run id"}},
		"shares a buffer": {flaws{read: sharesBuffer}, []string{"order", "from"}},
		"reads all": {flaws{read: func(ctx context.Context, m *memory, key checkpoint.Key, _ int) records {
			return m.Read(ctx, key, 1)
		}}, []string{"from"}},
		"reads backwards": {flaws{read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			n := last(m, key)
			return filtered(m.Read(ctx, key, from), func(r record) record { r.Seq = n + 1 - r.Seq; return r })
		}}, []string{"order", "from"}},
		"finds anything": {flaws{read: findsAnything}, []string{"no such run", "no records", "no run id", "conflict"}},
		"reads once":     {flaws{read: readsOnce}, []string{"break"}},
		"waits for ever": {flaws{
			append: func(_ context.Context, m *memory, b checkpoint.Batch) error {
				return m.Append(context.Background(), b)
			},
			read: func(_ context.Context, m *memory, key checkpoint.Key, from int) records {
				return m.Read(context.Background(), key, from)
			},
		}, []string{"done context", "done while reading"}},
		"locks":          {locks(), []string{"append while reading"}},
		"forgets all":    {flaws{delete: forgetsAll}, []string{"delete"}},
		"forgets none":   {flaws{delete: func(context.Context, *memory, []checkpoint.Key) error { return nil }}, []string{"delete"}},
		"keeps slices":   {keepsSlices(false), []string{"slices are not kept"}},
		"shares slices":  {keepsSlices(true), []string{"slices are not kept", "data are the caller's"}},
		"none whatever":  {},
		"halves batches": {flaws{append: halves}, []string{"batches are whole"}},
	}
}

// A store that breaks a promise is found out by the checks that look for it.
func TestBrokenStores(t *testing.T) {
	for name := range brokenStores() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := brokenStores()[name]
				found := checkpointtest.Broken(t.Context(), broken.want, func() checkpoint.Store { return &store{flaws: broken.flaws} })
				require.Equal(t, slices.Sorted(slices.Values(broken.want)), slices.Sorted(maps.Keys(found)))
			})
		})
	}
}

// hashed makes an id of what cannot be one.
func hashed(id string) string {
	if id == "" || checkpoint.CheckRun(id) == nil {
		return id
	}
	return fmt.Sprintf("%x", id[:min(len(id), 64)])
}

// repaired leaves out what cannot stand in an id.
func repaired(id string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(id, "\ufffd"), "\x00", "")
}

// halves appends a batch in two goes, between which it can be read.
func halves(ctx context.Context, m *memory, b checkpoint.Batch) error {
	first, second := b, b
	half := len(b.Records) / 2
	first.Records, second.Records = b.Records[:half], b.Records[half:]
	if err := m.Append(ctx, first); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return m.Append(ctx, second)
}
