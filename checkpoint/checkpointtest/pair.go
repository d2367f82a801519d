package checkpointtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// pair is a store beside a Memory: whatever is asked of the one is asked of the other. Both have to
// say the same, and the run has to read the same afterwards.
type pair struct {
	ctx    context.Context
	memory *checkpoint.Memory
	store  *view
	model  *view // of the memory, able to what the store is able to
	keys   []checkpoint.Key
	said   string // by the store, last: a refusal, or what it was asked for
}

func newPair(ctx context.Context, s checkpoint.Store) *pair {
	p := &pair{ctx: ctx, memory: new(checkpoint.Memory), store: viewOf(s)}
	p.store.spoils, p.model = true, viewOf(p.memory)
	if p.store.inbox == nil {
		p.model.inbox = nil
	}
	if p.store.kept == nil {
		p.model.kept = nil
	}
	if p.store.values == nil {
		p.model.values = nil
	}
	return p
}

// an ask is something that a store is asked, and what it says.
type ask func(*view) (string, error)

// same asks both, and compares.
func (p *pair) same(what string, do ask) error {
	want, wantErr := do(p.model)
	got, err := do(p.store)
	if _, lacks := errors.AsType[lacking](err); lacks {
		return err
	}
	p.said = got
	if err != nil {
		p.said = kind(err)
	}
	if got != want || kind(err) != kind(wantErr) {
		return fmt.Errorf("%s: got %q %s, want %q %s", what, got, problem(err), want, problem(wantErr))
	}
	return nil
}

// do asks both something about a run, and compares all that they then say of it.
func (p *pair) do(key checkpoint.Key, what string, do ask) error {
	if !slices.Contains(p.keys, key) {
		p.keys = append(p.keys, key)
	}
	stands := func() (got, want checkpoint.Head) {
		got, _ = p.store.store.Head(p.ctx, key) // zero: there is none
		want, _ = p.memory.Head(p.ctx, key)
		return got, want
	}
	before, modelBefore := stands()
	err := p.same(fmt.Sprintf("run %.64q: %s", key, what), do)
	if err == nil {
		err = p.compare(key)
	}
	if err != nil {
		return err
	}
	after, model := stands()
	if model.Updated.Equal(modelBefore.Updated) && !after.Updated.Equal(before.Updated) ||
		model.Created.Equal(modelBefore.Created) && !after.Created.Equal(before.Created) {
		return fmt.Errorf("run %.64q: %s changed when it was created, or appended to last: from %s to %s", key, what, whole(before), whole(after))
	}
	return nil
}

// compare reads all of some runs, here and there.
func (p *pair) compare(keys ...checkpoint.Key) error {
	for _, key := range keys {
		if got, want := p.store.text(p.ctx, key, false), p.model.text(p.ctx, key, false); got != want {
			return fmt.Errorf("run %.64q: %s", key, difference(got, want))
		}
	}
	return nil
}

func (p *pair) append(b checkpoint.Batch) error {
	what := fmt.Sprintf("append of records %s by %q in epoch %d", places(b.Records), b.Writer, b.Epoch)
	return p.do(b.Key, what, func(v *view) (string, error) { return "", v.append(p.ctx, b) })
}

// isTooLarge reports whether the store refuses a batch for its size, as it may. Else it has it.
func (p *pair) isTooLarge(b checkpoint.Batch) bool {
	return errors.Is(p.store.append(p.ctx, b), checkpoint.ErrTooLarge)
}

// fill appends records, as one batch of their owner.
func (p *pair) fill(key checkpoint.Key, records []checkpoint.Record) error {
	return p.append(batch(key, records...))
}

func (p *pair) lease(key checkpoint.Key, writer string, d time.Duration) error {
	return p.do(key, fmt.Sprintf("lease of %q for %s", writer, d), func(v *view) (string, error) { return v.lease(p.ctx, key, writer, d) })
}

func (p *pair) post(m checkpoint.Message) error {
	return p.do(m.Key, fmt.Sprintf("post of %q", m.ID), func(v *view) (string, error) {
		if v.inbox == nil {
			return "", lacking("Inbox")
		}
		m.Data = bytes.Clone(m.Data)
		defer v.spoil(m.Data)
		return "", v.inbox.Post(p.ctx, m)
	})
}

func (p *pair) save(key checkpoint.Key, s checkpoint.Snapshot) error {
	return p.do(key, fmt.Sprintf("snapshot of %d records", s.Records), func(v *view) (string, error) {
		if v.kept == nil {
			return "", lacking("SnapshotStore")
		}
		s.Data = bytes.Clone(s.Data)
		defer v.spoil(s.Data)
		return "", v.kept.SaveSnapshot(p.ctx, key, s)
	})
}

func (p *pair) put(key checkpoint.Key, id string, data []byte) error {
	return p.do(key, fmt.Sprintf("put of value %q", id), func(v *view) (string, error) {
		if v.values == nil {
			return "", lacking("ValueStore")
		}
		data := bytes.Clone(data)
		defer v.spoil(data)
		return "", v.values.PutValue(p.ctx, key, id, data)
	})
}

func (p *pair) delete(keys ...checkpoint.Key) error {
	err := p.same("delete", func(v *view) (string, error) {
		if v.pruner == nil {
			return "", lacking("Pruner")
		}
		return "", v.pruner.Delete(p.ctx, keys...)
	})
	return errors.Join(err, p.compare(keys...))
}

// read compares what a run has from a place on.
func (p *pair) read(key checkpoint.Key, from int) error {
	return p.same(fmt.Sprintf("run %.64q: read from %d", key, from), func(v *view) (string, error) { return v.read(p.ctx, key, from) })
}

// value compares a range of a value.
func (p *pair) value(key checkpoint.Key, id string, offset int64, length int) error {
	return p.same(fmt.Sprintf("run %.64q: value %q: %d bytes from %d on", key, id, length, offset), func(v *view) (string, error) {
		if v.values == nil {
			return "", lacking("ValueStore")
		}
		data, size, err := v.values.ReadValue(p.ctx, key, id, offset, length)
		return fmt.Sprintf("%s of %d", brief(data), size), err
	})
}

// list compares the runs of a list, page by page.
func (p *pair) list(q checkpoint.Query) error {
	return p.same(fmt.Sprintf("list of %+v", q), func(v *view) (string, error) {
		if v.lister == nil {
			return "", lacking("Lister")
		}
		heads, err := pages(p.ctx, v.lister, q, nothingBetween)
		return keyed(heads), errors.Join(err, inOrder(heads))
	})
}

// view is a store and what it is able to: nil is what it is not.
type view struct {
	store  checkpoint.Store
	lister checkpoint.Lister
	inbox  checkpoint.Inbox
	kept   checkpoint.SnapshotStore
	values checkpoint.ValueStore
	leaser checkpoint.Leaser
	pruner checkpoint.Pruner
	spoils bool // what was handed over or got is written over
}

func viewOf(s checkpoint.Store) *view {
	v := &view{store: s}
	v.lister, _ = checkpoint.As[checkpoint.Lister](s)
	v.inbox, _ = checkpoint.As[checkpoint.Inbox](s)
	v.kept, _ = checkpoint.As[checkpoint.SnapshotStore](s)
	v.values, _ = checkpoint.As[checkpoint.ValueStore](s)
	v.leaser, _ = checkpoint.As[checkpoint.Leaser](s)
	v.pruner, _ = checkpoint.As[checkpoint.Pruner](s)
	return v
}

func (v *view) spoil(data []byte) {
	if !v.spoils {
		return
	}
	for i := range data {
		data[i] = '#'
	}
	_ = append(data, bytes.Repeat([]byte("#"), 64)...) // nor does its room reach into another's
}

func (v *view) spoilHeader(h *checkpoint.Header) {
	if !v.spoils {
		return
	}
	h.Status = "spoilt"
	clear(h.Waits)
	for name := range h.Labels {
		h.Labels[name] += "#"
	}
}

func (v *view) append(ctx context.Context, b checkpoint.Batch) error {
	b.Records = slices.Clone(b.Records)
	for i := range b.Records {
		b.Records[i].Data = bytes.Clone(b.Records[i].Data)
		defer v.spoil(b.Records[i].Data)
	}
	if b.Header != nil {
		h := copied(*b.Header)
		b.Header = &h
		defer v.spoilHeader(&h)
	}
	err := v.store.Append(ctx, b)
	if v.spoils {
		defer clear(b.Records)
	}
	return err
}

// lease returns how the run stands, which Head says, too.
func (v *view) lease(ctx context.Context, key checkpoint.Key, writer string, d time.Duration) (string, error) {
	if v.leaser == nil {
		return "", lacking("Leaser")
	}
	got, err := v.leaser.Lease(ctx, key, writer, d)
	if err != nil {
		return "", err
	}
	h, err := v.store.Head(ctx, key)
	if err == nil && whole(h) != whole(got) {
		err = fmt.Errorf("what Lease returned is %s, and what Head returned %s", whole(got), whole(h))
	}
	return form(got), err
}

// read says which records a run has from a place on.
func (v *view) read(ctx context.Context, key checkpoint.Key, from int) (string, error) {
	records, err := read(ctx, v.store, key, from)
	var all strings.Builder
	for _, r := range records {
		fmt.Fprintf(&all, "record %d %q: %s\n", r.Seq, r.Type, brief(r.Data))
	}
	for _, r := range records {
		v.spoil(r.Data)
	}
	return fmt.Sprint(all.String(), len(records), " records"), err
}

// text says all that the store says of a run, with the times or without.
func (v *view) text(ctx context.Context, key checkpoint.Key, times bool) string {
	var all strings.Builder
	h, err := v.store.Head(ctx, key)
	fmt.Fprintln(&all, form(h), problem(err), "with times:", err != nil || !h.Created.IsZero() && !h.Updated.Before(h.Created))
	if times {
		fmt.Fprintln(&all, whole(h))
	}
	v.spoilHeader(&h.Header)
	records, err := v.read(ctx, key, 1)
	fmt.Fprintln(&all, records, problem(err))
	if v.inbox != nil {
		messages, err := v.posted(ctx, times, key)
		fmt.Fprintln(&all, messages, problem(err))
	}
	if v.kept != nil {
		s, err := v.kept.Snapshot(ctx, key)
		fmt.Fprintf(&all, "snapshot of %d records: %s %s\n", s.Records, brief(s.Data), problem(err))
		v.spoil(s.Data)
	}
	if v.values != nil {
		list, err := v.values.Values(ctx, key)
		for _, value := range list {
			data, size, err := v.values.ReadValue(ctx, key, value.ID, 0, 1<<21)
			fmt.Fprintf(&all, "value %v: %s of %d %s\n", value, brief(data), size, problem(err))
			v.spoil(data)
		}
		fmt.Fprintln(&all, len(list), "values", problem(err))
	}
	return all.String()
}

// posted says which messages runs have.
func (v *view) posted(ctx context.Context, times bool, keys ...checkpoint.Key) (string, error) {
	messages, err := v.inbox.Posted(ctx, keys...)
	var all strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&all, "message %s to %q: %s, with a time: %t\n", m.ID, m.Key, brief(m.Data), !m.At.IsZero())
		if times {
			fmt.Fprintln(&all, "posted at", nanos(m.At))
		}
		v.spoil(m.Data)
	}
	return fmt.Sprint(all.String(), len(messages), " messages"), err
}

// all is text of many runs, and what a list of all says.
func (v *view) all(ctx context.Context, keys []checkpoint.Key) string {
	var all strings.Builder
	for _, key := range keys {
		all.WriteString(v.text(ctx, key, true))
	}
	if v.lister != nil {
		page, err := v.lister.List(ctx, checkpoint.Query{All: true})
		for _, h := range page.Heads {
			fmt.Fprintln(&all, "listed:", whole(h))
		}
		fmt.Fprintln(&all, problem(err))
	}
	return all.String()
}

type errorKind struct {
	name string
	err  error
}

// kinds are the errors that are told apart, by their names.
var kinds = []errorKind{
	{"fenced", checkpoint.ErrFenced},
	{"conflict", checkpoint.ErrConflict},
	{"missing", checkpoint.ErrNotFound},
	{"leased", checkpoint.ErrLeased},
	{"id", checkpoint.ErrID},
	{"damaged", checkpoint.ErrCorrupt},
	{"cancelled", context.Canceled},
}

// kind names what an error wraps; it is empty for nil.
func kind(err error) string {
	var names []string
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			names = append(names, k.name)
		}
	}
	if err != nil && len(names) == 0 {
		return "another error: " + err.Error()
	}
	return strings.Join(names, " and ")
}

// problem is the kind of an error in a text.
func problem(err error) string {
	if err == nil {
		return ""
	}
	return "(" + kind(err) + ")"
}

// brief says what data are, in a few words.
func brief(data []byte) string {
	if len(data) > 80 {
		return fmt.Sprintf("%.40q… (%d bytes, sum %.4x)", data[:40], len(data), sha256.Sum256(data))
	}
	return fmt.Sprintf("%q", data)
}

// difference names the first line by which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < min(len(g), len(w))-1 && g[i] == w[i] {
		i++
	}
	return fmt.Sprintf("\n got %s\nwant %s", g[i], w[i])
}

// form says how a run stands, the times of the store aside.
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
