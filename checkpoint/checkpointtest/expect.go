package checkpointtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

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
func expectNone(ctx context.Context, s checkpoint.Store, key checkpoint.Key) error {
	got, err := read(ctx, s, key, 1)
	return wraps(err, checkpoint.ErrNotFound, "run %.64q: read: %d records, and then", key, len(got))
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

// form says how a run stands, the times of the store aside, so that two heads can be compared.
func form(h checkpoint.Head) string {
	h.Header.Due = h.Header.Due.UTC()
	header, err := json.Marshal(h.Header)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q %q: last %d, epoch %d, lease of %q, recoveries %d, %s",
		h.Key.Namespace, h.Key.Run, h.Last, h.Epoch, h.Lease.Writer, h.Recoveries, header)
}

// whole is form with the times.
func whole(h checkpoint.Head) string {
	return fmt.Sprintf("%s, created %d, updated %d, leased until %d", form(h), nanos(h.Created), nanos(h.Updated), nanos(h.Lease.Until))
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// expectHead reads the head of a run and compares, times of the store aside.
func expectHead(ctx context.Context, s checkpoint.Store, want checkpoint.Head) error {
	got, err := s.Head(ctx, want.Key)
	if err != nil {
		return fmt.Errorf("run %.64q: head: %w", want.Key, err)
	}
	if form(got) != form(want) {
		return fmt.Errorf("head:\n got %s\nwant %s", form(got), form(want))
	}
	if got.Created.IsZero() || got.Updated.Before(got.Created) {
		return fmt.Errorf("head of run %.64q: it was created at %s, and appended to last at %s", want.Key, got.Created, got.Updated)
	}
	return nil
}

// unchanged runs what must change nothing of a run: neither its head, with all times, nor its
// records.
func unchanged(ctx context.Context, s checkpoint.Store, key checkpoint.Key, what func() error) error {
	before, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	records, err := read(ctx, s, key, 1)
	if err != nil {
		return err
	}
	if err := what(); err != nil {
		return err
	}
	after, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	if whole(before) != whole(after) {
		return fmt.Errorf("it changed the head:\nfrom %s\n  to %s", whole(before), whole(after))
	}
	return expect(ctx, s, key, 1, records)
}

// by returns a batch as if another writer, in another epoch, appended it.
func by(b checkpoint.Batch, writer string, epoch int64) checkpoint.Batch {
	b.Writer, b.Epoch = writer, epoch
	return b
}

// view is a store and what else it is able to: nil is what it is not.
type view struct {
	store  checkpoint.Store
	inbox  checkpoint.Inbox
	kept   checkpoint.SnapshotStore
	values checkpoint.ValueStore
	lister checkpoint.Lister
}

func viewOf(s checkpoint.Store) *view {
	v := &view{store: s}
	v.inbox, _ = checkpoint.As[checkpoint.Inbox](s)
	v.kept, _ = checkpoint.As[checkpoint.SnapshotStore](s)
	v.values, _ = checkpoint.As[checkpoint.ValueStore](s)
	v.lister, _ = checkpoint.As[checkpoint.Lister](s)
	return v
}

// run says all that the store says of a run, with the times or without.
func (v *view) run(ctx context.Context, key checkpoint.Key, times bool) string {
	var all strings.Builder
	head := form
	if times {
		head = whole
	}
	h, err := v.store.Head(ctx, key)
	fmt.Fprintln(&all, "head:", head(h), kind(err))
	records, err := read(ctx, v.store, key, 1)
	for _, r := range records {
		fmt.Fprintf(&all, "record %d %q: %q\n", r.Seq, r.Type, r.Data)
	}
	fmt.Fprintln(&all, "records:", len(records), kind(err))
	if v.inbox != nil {
		messages, err := v.inbox.Posted(ctx, key)
		for _, m := range messages {
			fmt.Fprintf(&all, "message %s to %q: %q\n", m.ID, m.Key, m.Data)
			if times {
				fmt.Fprintln(&all, "posted at", nanos(m.At))
			}
		}
		fmt.Fprintln(&all, "messages:", len(messages), kind(err))
	}
	if v.kept != nil {
		snapshot, err := v.kept.Snapshot(ctx, key)
		fmt.Fprintf(&all, "snapshot of %d records: %q %s\n", snapshot.Records, snapshot.Data, kind(err))
	}
	if v.values != nil {
		list, err := v.values.Values(ctx, key)
		for _, value := range list {
			data, size, err := v.values.ReadValue(ctx, key, value.ID, 0, 1<<20)
			fmt.Fprintf(&all, "value %v: %q of %d %s\n", value, data, size, kind(err))
		}
		fmt.Fprintln(&all, "values:", len(list), kind(err))
	}
	return all.String()
}

// everything says all that a store says of runs, times included, and what a list says.
func everything(ctx context.Context, s checkpoint.Store, keys []checkpoint.Key) (string, error) {
	var all strings.Builder
	v := viewOf(s)
	for _, key := range keys {
		all.WriteString(v.run(ctx, key, true))
	}
	if v.lister == nil {
		return all.String(), nil
	}
	page, err := v.lister.List(ctx, checkpoint.Query{All: true})
	for _, h := range page.Heads {
		fmt.Fprintln(&all, whole(h))
	}
	return all.String(), err
}
