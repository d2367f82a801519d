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
	append func(ctx context.Context, m *memory, run string, rs []record) error
	read   func(ctx context.Context, m *memory, run string, from int) records
	delete func(ctx context.Context, m *memory, run string) error
}

type store struct {
	memory
	flaws
}

func (s *store) Append(ctx context.Context, run string, rs ...record) error {
	if s.append != nil {
		return s.append(ctx, &s.memory, run, rs)
	}
	return s.memory.Append(ctx, run, rs...)
}

func (s *store) Read(ctx context.Context, run string, from int) records {
	if s.read != nil {
		return s.read(ctx, &s.memory, run, from)
	}
	return s.memory.Read(ctx, run, from)
}

func (s *store) Delete(ctx context.Context, run string) error {
	if s.delete != nil {
		return s.delete(ctx, &s.memory, run)
	}
	return s.memory.Delete(ctx, run)
}

// last returns the place of the last record.
func last(m *memory, run string) (seq int) {
	for r := range m.Read(context.Background(), run, 1) {
		seq = r.Seq
	}
	return seq
}

// renumbers puts records where there is room.
func renumbers(ctx context.Context, m *memory, run string, rs []record) error {
	own := slices.Clone(rs)
	for i := range own {
		own[i].Seq = last(m, run) + 1 + i
	}
	return m.Append(ctx, run, own...)
}

// appendsInPart keeps the records before one that conflicts.
func appendsInPart(ctx context.Context, m *memory, run string, rs []record) error {
	for _, r := range rs {
		if err := m.Append(ctx, run, r); err != nil {
			return err
		}
	}
	return nil
}

// looksThenLeaps lets everybody succeed who saw room.
func looksThenLeaps(ctx context.Context, m *memory, run string, rs []record) error {
	room := len(rs) > 0 && rs[0].Seq == last(m, run)+1
	time.Sleep(time.Millisecond)
	err := m.Append(ctx, run, rs...)
	if room && errors.Is(err, checkpoint.ErrConflict) {
		return nil
	}
	return err
}

// wrapsNothing makes texts of errors.
func wrapsNothing(ctx context.Context, m *memory, run string, rs []record) error {
	if err := m.Append(ctx, run, rs...); err != nil {
		return fmt.Errorf("it failed: %s", err.Error())
	}
	return nil
}

// edits keeps something else than it is given.
func edits(edit func(string) string) flaws {
	return flaws{append: func(ctx context.Context, m *memory, run string, rs []record) error {
		own := slices.Clone(rs)
		for i := range own {
			own[i].Data = []byte(edit(string(own[i].Data)))
		}
		return m.Append(ctx, run, own...)
	}}
}

// renames takes several ids for one.
func renames(rename func(string) string) flaws {
	return flaws{
		append: func(ctx context.Context, m *memory, run string, rs []record) error {
			return m.Append(ctx, rename(run), rs...)
		},
		read: func(ctx context.Context, m *memory, run string, from int) records {
			return m.Read(ctx, rename(run), from)
		},
	}
}

// keepsSlices is a store that holds what it was handed; where own is true it hands that out, too.
func keepsSlices(own bool) flaws {
	kept := map[*memory][]record{} // for checks of one run and one goroutine
	return flaws{
		append: func(ctx context.Context, m *memory, run string, rs []record) error {
			err := m.Append(ctx, run, rs...)
			if err == nil {
				kept[m] = append(kept[m], rs...)
			}
			return err
		},
		read: func(ctx context.Context, m *memory, run string, from int) records {
			return filtered(m.Read(ctx, run, from), func(r record) record {
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
func sharesBuffer(ctx context.Context, m *memory, run string, from int) records {
	var buffer []byte
	return filtered(m.Read(ctx, run, from), func(r record) record {
		buffer = append(buffer[:0], r.Data...)
		return record{Seq: r.Seq, Data: buffer}
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
func findsAnything(ctx context.Context, m *memory, run string, from int) records {
	return func(yield func(record, error) bool) {
		for r, err := range m.Read(ctx, run, from) {
			if errors.Is(err, checkpoint.ErrNotFound) || !yield(r, err) {
				return
			}
		}
	}
}

// readsOnce is a Read whose sequence is good for one range.
func readsOnce(ctx context.Context, m *memory, run string, from int) records {
	used := false
	return func(yield func(record, error) bool) {
		if !used {
			used = true
			m.Read(ctx, run, from)(yield)
		}
	}
}

// locks is a store that nobody can write while it is read.
func locks() flaws {
	lock := make(chan struct{}, 1)
	return flaws{
		append: func(ctx context.Context, m *memory, run string, rs []record) error {
			select {
			case lock <- struct{}{}:
				defer func() { <-lock }()
				return m.Append(ctx, run, rs...)
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		read: func(ctx context.Context, m *memory, run string, from int) records {
			return func(yield func(record, error) bool) {
				lock <- struct{}{}
				defer func() { <-lock }()
				m.Read(ctx, run, from)(yield)
			}
		},
	}
}

func forgetsAll(ctx context.Context, m *memory, _ string) error {
	for _, run := range m.Runs() {
		if err := m.Delete(ctx, run); err != nil {
			return err
		}
	}
	return nil
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
		"reads all": {flaws{read: func(ctx context.Context, m *memory, run string, _ int) records {
			return m.Read(ctx, run, 1)
		}}, []string{"from"}},
		"reads backwards": {flaws{read: func(ctx context.Context, m *memory, run string, from int) records {
			n := last(m, run)
			return filtered(m.Read(ctx, run, from), func(r record) record { r.Seq = n + 1 - r.Seq; return r })
		}}, []string{"order", "from"}},
		"finds anything": {flaws{read: findsAnything}, []string{"no such run", "no records", "no run id", "conflict"}},
		"reads once":     {flaws{read: readsOnce}, []string{"break"}},
		"waits for ever": {flaws{
			append: func(_ context.Context, m *memory, run string, rs []record) error {
				return m.Append(context.Background(), run, rs...)
			},
			read: func(_ context.Context, m *memory, run string, from int) records {
				return m.Read(context.Background(), run, from)
			},
		}, []string{"done context", "done while reading"}},
		"locks":          {locks(), []string{"append while reading"}},
		"forgets all":    {flaws{delete: forgetsAll}, []string{"delete"}},
		"forgets none":   {flaws{delete: func(context.Context, *memory, string) error { return nil }}, []string{"delete"}},
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
func halves(ctx context.Context, m *memory, run string, rs []record) error {
	half := len(rs) / 2
	if err := m.Append(ctx, run, rs[:half]...); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return m.Append(ctx, run, rs[half:]...)
}
