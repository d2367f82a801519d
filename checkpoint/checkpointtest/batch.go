package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/checkpoint"
)

var run = named("0197b5a8-1c52-7e7b-9f43-5d1c6a0e2b11")

// The names of writers.
const (
	owner = "0197b5a8-1c52-7e7b-9f43-0123456789ab"
	other = "0197b5a8-1c52-7e7b-9f43-ba9876543210"
)

// named returns the key of a run without a namespace.
func named(id string) checkpoint.Key { return checkpoint.Key{Run: id} }

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

// batch returns what the owner of a run appends to it.
func batch(key checkpoint.Key, records ...checkpoint.Record) checkpoint.Batch {
	return checkpoint.Batch{Key: key, Records: records, Header: &checkpoint.Header{Status: checkpoint.StatusRunning}, Writer: owner, Epoch: 1}
}

// by returns a batch as if another writer, in another epoch, appended it.
func by(b checkpoint.Batch, writer string, epoch int64) checkpoint.Batch {
	b.Writer, b.Epoch = writer, epoch
	return b
}

func note(key checkpoint.Key, id string) checkpoint.Message {
	return checkpoint.Message{ID: id, Key: key, Data: []byte(fmt.Sprintf(`{"to":%q,"id":%q}`, key.Run, id))}
}

func snapshotOf(key checkpoint.Key, records int) checkpoint.Snapshot {
	return checkpoint.Snapshot{Records: records, Data: []byte(fmt.Sprintf(`{"of":%q,"records":%d}`, key, records))}
}

// valueOf returns so many bytes, of which no two places look alike.
func valueOf(seed string, size int) []byte {
	data := make([]byte, 0, size+64)
	for i := 0; len(data) < size; i++ {
		data = fmt.Appendf(data, "%s %d\x00\xff\n", seed, i)
	}
	return data[:size]
}

// copied copies a header.
func copied(h checkpoint.Header) checkpoint.Header {
	h.Waits, h.Labels = slices.Clone(h.Waits), maps.Clone(h.Labels)
	return h
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

// fill appends records to a store alone, as one batch of their owner.
func fill(ctx context.Context, s checkpoint.Store, key checkpoint.Key, records []checkpoint.Record) error {
	if err := s.Append(ctx, batch(key, records...)); err != nil {
		return fmt.Errorf("run %.64q: append of records %s: %w", key, places(records), err)
	}
	return nil
}

// expect reads a run of a store alone, and compares.
func expect(ctx context.Context, s checkpoint.Store, key checkpoint.Key, want []checkpoint.Record) error {
	got, err := read(ctx, s, key, 1)
	if err != nil {
		return fmt.Errorf("run %.64q: read: after %d records: %w", key, len(got), err)
	}
	for i := range min(len(got), len(want)) {
		if g, w := got[i], want[i]; g.Seq != w.Seq || g.Type != w.Type || !bytes.Equal(g.Data, w.Data) {
			return fmt.Errorf("run %.64q: read: at %d: got record %d, %q, %.80q; want record %d, %q, %.80q", key, i, g.Seq, g.Type, g.Data, w.Seq, w.Type, w.Data)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("run %.64q: read: got %d records, want %d", key, len(got), len(want))
	}
	return nil
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
