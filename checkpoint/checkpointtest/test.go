// Package checkpointtest checks that a store keeps the promises of checkpoint.Store.
//
//	func TestConformance(t *testing.T) {
//		checkpointtest.Test(t, func(t *testing.T) checkpoint.Store {
//			s, err := mine.Open(filepath.Join(t.TempDir(), "runs.db"))
//			require.NoError(t, err)
//			t.Cleanup(func() { s.Close() })
//			return s
//		})
//	}
//
// What it cannot see is whether records outlive the process: that is for the tests of the
// implementation.
package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// patience bounds each check, for stores that mind their context.
const patience = time.Minute

// Test checks a store in subtests, one for each promise. Each opens a store of its own, which has
// to be empty. Promises of an ability that the store lacks are skipped by name.
func Test(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := c.run(ctx, open(t))
			if without, ok := errors.AsType[lacking](err); ok {
				t.Skip(without)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A check returns an error that says which promise an empty store broke.
type check func(context.Context, checkpoint.Store) error

var checks = []struct {
	name string
	run  check
}{
	{"order", order},
	{"from", from},
	{"no such run", noSuchRun},
	{"no records", noRecords},
	{"no run id", noRunID},
	{"conflict", conflict},
	{"conflict within a batch", conflictWithin},
	{"runs are apart", runsApart},
	{"bytes are kept", bytesKept},
	{"large records", largeRecords},
	{"slices are not kept", slicesNotKept},
	{"data are the caller's", dataOwned},
	{"one of many wins", oneWins},
	{"batches are whole", batchesWhole},
	{"done context", doneContext},
	{"done while reading", doneWhileReading},
	{"break", breakOff},
	{"append while reading", appendWhileReading},
	{"delete", deleted},
}

// lacking is the ability that a store has not, and that a check is about.
type lacking string

func (l lacking) Error() string { return "no " + string(l) }

// able returns an ability of a store.
func able[T any](s checkpoint.Store) (T, error) {
	a, ok := checkpoint.As[T](s)
	if !ok {
		return a, lacking(reflect.TypeFor[T]().Name())
	}
	return a, nil
}

// journal returns records with places from first on.
func journal(first int, data ...string) []checkpoint.Record {
	records := make([]checkpoint.Record, len(data))
	for i, d := range data {
		records[i] = checkpoint.Record{Seq: first + i, Type: "test", Data: []byte(d)}
	}
	return records
}

// numbered returns n different records with places from first on.
func numbered(first, n int) []checkpoint.Record {
	data := make([]string, n)
	for i := range data {
		data[i] = fmt.Sprintf(`{"record":%d}`, first+i)
	}
	return journal(first, data...)
}

// The names of writers.
const (
	owner = "0197b5a8-1c52-7e7b-9f43-0123456789ab"
	other = "0197b5a8-1c52-7e7b-9f43-ba9876543210"
)

// named returns the key of a run without a namespace.
func named(id string) checkpoint.Key { return checkpoint.Key{Run: id} }

// batch returns what the owner of a run appends to it.
func batch(key checkpoint.Key, records ...checkpoint.Record) checkpoint.Batch {
	return checkpoint.Batch{Key: key, Records: records, Header: &checkpoint.Header{Status: checkpoint.StatusRunning}, Writer: owner, Epoch: 1}
}

// fill appends records, as one batch of their owner.
func fill(ctx context.Context, s checkpoint.Store, key checkpoint.Key, records []checkpoint.Record) error {
	return put(ctx, s, batch(key, records...))
}

// put appends a batch.
func put(ctx context.Context, s checkpoint.Store, b checkpoint.Batch) error {
	if err := s.Append(ctx, b); err != nil {
		return fmt.Errorf("run %.64q: append of records %s: %w", b.Key, places(b.Records), err)
	}
	return nil
}

// places names the places of records.
func places(records []checkpoint.Record) string {
	all := make([]int, len(records))
	for i, r := range records {
		all[i] = r.Seq
	}
	if n := len(all); n > 8 {
		return fmt.Sprintf("%d, …, %d", all[0], all[n-1])
	}
	return fmt.Sprint(all)
}

// read returns what a Read yields, to its first error.
func read(ctx context.Context, s checkpoint.Store, key checkpoint.Key, from int) (got []checkpoint.Record, err error) {
	for r, err := range s.Read(ctx, key, from) {
		if err != nil {
			return got, err
		}
		got = append(got, r)
	}
	return got, nil
}

// expect reads a run and compares.
func expect(ctx context.Context, s checkpoint.Store, key checkpoint.Key, from int, want []checkpoint.Record) error {
	got, err := read(ctx, s, key, from)
	if err != nil {
		return fmt.Errorf("run %.64q: read from %d: after %d records: %w", key, from, len(got), err)
	}
	for i := range min(len(got), len(want)) {
		if g, w := got[i], want[i]; g.Seq != w.Seq || g.Type != w.Type || !bytes.Equal(g.Data, w.Data) {
			return fmt.Errorf("run %.64q: read from %d: at %d: got record %d, %q, %.80q; want record %d, %q, %.80q", key, from, i, g.Seq, g.Type, g.Data, w.Seq, w.Type, w.Data)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("run %.64q: read from %d: got %d records, want %d", key, from, len(got), len(want))
	}
	return nil
}

// expectNone reads a run that has no records.
func expectNone(ctx context.Context, s checkpoint.Store, key checkpoint.Key, from int) error {
	got, err := read(ctx, s, key, from)
	return wraps(err, checkpoint.ErrNotFound, "run %.64q: read from %d: %d records, and then", key, from, len(got))
}

// wraps returns an error unless err wraps target.
func wraps(err, target error, what string, args ...any) error {
	if errors.Is(err, target) {
		return nil
	}
	what = fmt.Sprintf(what, args...)
	if err == nil {
		return fmt.Errorf("%s: no error, want one that wraps %q", what, target.Error())
	}
	return fmt.Errorf("%s: want an error that wraps %q, got %w", what, target.Error(), err)
}

// clone copies records and their data.
func clone(records []checkpoint.Record) []checkpoint.Record {
	own := slices.Clone(records)
	for i := range own {
		own[i].Data = bytes.Clone(own[i].Data)
	}
	return own
}
