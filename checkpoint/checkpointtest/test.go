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
	"slices"
	"testing"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// patience bounds each check, for stores that mind their context.
const patience = time.Minute

// Test checks a store in subtests, one for each promise. Each opens a store of its own, which has
// to be empty.
func Test(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := c.run(ctx, open(t)); err != nil {
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

// journal returns records with places from first on.
func journal(first int, data ...string) []checkpoint.Record {
	records := make([]checkpoint.Record, len(data))
	for i, d := range data {
		records[i] = checkpoint.Record{Seq: first + i, Data: []byte(d)}
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

// fill appends records, as one batch.
func fill(ctx context.Context, s checkpoint.Store, run string, records []checkpoint.Record) error {
	if err := s.Append(ctx, run, records...); err != nil {
		return fmt.Errorf("run %.64q: append of %d records from %d: %w", run, len(records), records[0].Seq, err)
	}
	return nil
}

// read returns what a Read yields, to its first error.
func read(ctx context.Context, s checkpoint.Store, run string, from int) (got []checkpoint.Record, err error) {
	for r, err := range s.Read(ctx, run, from) {
		if err != nil {
			return got, err
		}
		got = append(got, r)
	}
	return got, nil
}

// expect reads a run and compares.
func expect(ctx context.Context, s checkpoint.Store, run string, from int, want []checkpoint.Record) error {
	got, err := read(ctx, s, run, from)
	if err != nil {
		return fmt.Errorf("run %.64q: read from %d: after %d records: %w", run, from, len(got), err)
	}
	for i := range min(len(got), len(want)) {
		if g, w := got[i], want[i]; g.Seq != w.Seq || !bytes.Equal(g.Data, w.Data) {
			return fmt.Errorf("run %.64q: read from %d: at %d: got record %d, %.80q; want record %d, %.80q", run, from, i, g.Seq, g.Data, w.Seq, w.Data)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("run %.64q: read from %d: got %d records, want %d", run, from, len(got), len(want))
	}
	return nil
}

// expectNone reads a run that has no records.
func expectNone(ctx context.Context, s checkpoint.Store, run string, from int) error {
	got, err := read(ctx, s, run, from)
	return wraps(err, checkpoint.ErrNotFound, "run %.64q: read from %d: %d records, and then", run, from, len(got))
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
