package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/segue-go/segue/checkpoint"
)

// Model drives a store beside a [checkpoint.Memory], by random operations, and compares what they
// say: errors, heads, records, messages and lists, the times aside. It opens the store once. What
// an ability is needed for is left out where the store lacks it.
//
// The flags of rapid say how many cases there are (-rapid.checks), and from which seed.
func Model(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	t.Helper()
	model(t, open(t))
}

func model(t rapid.TB, s checkpoint.Store) {
	t.Helper()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		p := newPair(ctx, s, fmt.Sprint("case ", n))
		defer p.forget()
		t.Repeat(p.actions())
		p.compareAll(t)
	})
}

// pair is a store beside its model, in a case.
type pair struct {
	ctx    context.Context
	memory *checkpoint.Memory
	store  *view
	model  *view // of the memory, able to what the store is able to
	keys   []checkpoint.Key
	stored map[checkpoint.Key]checkpoint.Batch // the last one that was appended
	posts  []string                            // the IDs of all messages

	leaser checkpoint.Leaser
	pruner checkpoint.Pruner
}

// newPair makes one whose runs are apart from those of other cases.
func newPair(ctx context.Context, s checkpoint.Store, name string) *pair {
	p := &pair{ctx: ctx, memory: new(checkpoint.Memory), store: viewOf(s), stored: map[checkpoint.Key]checkpoint.Batch{}}
	p.model = &view{store: p.memory}
	if p.store.inbox != nil {
		p.model.inbox = p.memory
	}
	if p.store.kept != nil {
		p.model.kept = p.memory
	}
	if p.store.values != nil {
		p.model.values = p.memory
	}
	p.leaser, _ = checkpoint.As[checkpoint.Leaser](s)
	p.pruner, _ = checkpoint.As[checkpoint.Pruner](s)
	for _, namespace := range []string{name, name + "/a"} {
		p.keys = append(p.keys, checkpoint.Key{Namespace: namespace, Run: "a/b"}, checkpoint.Key{Namespace: namespace, Run: "b"})
	}
	return p
}

// forget deletes the runs of the case.
func (p *pair) forget() {
	if p.pruner != nil {
		_ = p.pruner.Delete(context.WithoutCancel(p.ctx), p.keys...)
	}
}

func (p *pair) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){"append": p.append, "append more": p.append, "retry": p.retry}
	if p.store.inbox != nil {
		actions["post"] = p.post
	}
	if p.leaser != nil {
		actions["lease"] = p.lease
	}
	if p.pruner != nil {
		actions["delete"] = p.delete
	}
	if p.store.kept != nil {
		actions["snapshot"] = p.snapshot
	}
	if p.store.values != nil {
		actions["value"] = p.value
	}
	return actions
}

// kind names what an error wraps.
func kind(err error) string {
	for _, target := range []error{checkpoint.ErrFenced, checkpoint.ErrConflict, checkpoint.ErrNotFound, checkpoint.ErrLeased} {
		if errors.Is(err, target) {
			return target.Error()
		}
	}
	if err != nil {
		return "another error: " + err.Error()
	}
	return "no error"
}

// same fails unless two errors are of a kind.
func same(t *rapid.T, what string, got, want error) {
	if kind(got) != kind(want) {
		t.Fatalf("%s: got %s, want %s", what, kind(got), kind(want))
	}
}

func (p *pair) key(t *rapid.T) checkpoint.Key { return rapid.SampledFrom(p.keys).Draw(t, "key") }

func writerOf(t *rapid.T) string {
	return rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "writer")
}

// append appends a batch that is right, or fenced, or in a wrong place.
func (p *pair) append(t *rapid.T) {
	key := p.key(t)
	h, _ := p.memory.Head(p.ctx, key) // zero: there is none
	n := rapid.IntRange(0, 3).Draw(t, "records")
	next := h.Last + 1 + rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, -1}).Draw(t, "place")
	b := checkpoint.Batch{
		Key: key, Records: numbered(next, n), Header: p.header(t, h.Last == 0), Writer: writerOf(t),
		Epoch: h.Epoch + rapid.SampledFrom([]int64{0, 0, 0, 1, 3, -1}).Draw(t, "epoch"),
	}
	for i := range b.Records {
		b.Records[i].Data = rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "data")
	}
	if p.leaser != nil {
		b.Lease = rapid.SampledFrom([]time.Duration{0, 0, time.Hour, -1}).Draw(t, "lease")
		b.Progress = rapid.Bool().Draw(t, "progress")
	}
	if p.store.inbox != nil && len(p.posts) > 0 {
		b.Taken = rapid.SliceOfN(rapid.SampledFrom(p.posts), 0, 2).Draw(t, "taken")
	}
	if last := p.stored[key]; n > 0 && last.Writer == b.Writer && next+n-1 == h.Last {
		t.Skip("a writer that appends something else in the places of what it has appended")
	}
	p.do(t, b)
}

func (p *pair) do(t *rapid.T, b checkpoint.Batch) {
	want := p.memory.Append(p.ctx, b)
	same(t, fmt.Sprintf("run %q: append of records %s by %q in epoch %d", b.Key, places(b.Records), b.Writer, b.Epoch), p.store.store.Append(p.ctx, b), want)
	if want == nil && len(b.Records) > 0 {
		p.stored[b.Key] = b
	}
	p.compare(t, b.Key)
}

// retry appends the last batch of a run again, whatever has become of the run since.
func (p *pair) retry(t *rapid.T) {
	b, ok := p.stored[p.key(t)]
	if !ok {
		t.Skip("there is none")
	}
	p.do(t, b)
}

// header draws one, or none unless there must be one.
func (p *pair) header(t *rapid.T, must bool) *checkpoint.Header {
	if !must && rapid.Bool().Draw(t, "no header") {
		return nil
	}
	text := rapid.SampledFrom([]string{"", "a", "A", "a'b", "é"})
	h := checkpoint.Header{
		Status:   rapid.SampledFrom([]checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting, checkpoint.StatusDone}).Draw(t, "status"),
		Strategy: text.Draw(t, "strategy"), Reason: text.Draw(t, "reason"), Origin: checkpoint.Origin{Run: text.Draw(t, "origin")},
		Labels: rapid.MapOfN(text, text, 0, 2).Draw(t, "labels"),
	}
	for _, kind := range rapid.SliceOfN(text, 0, 2).Draw(t, "waits") {
		h.Waits = append(h.Waits, checkpoint.Wait{ID: "1", Kind: kind})
	}
	if days := rapid.IntRange(0, 3).Draw(t, "due"); days > 0 {
		h.Due = dueSoon.AddDate(0, 0, days)
	}
	return &h
}

// lease takes, keeps or ends a lease, or takes one that has run out when it is done.
func (p *pair) lease(t *rapid.T) {
	key, writer := p.key(t), writerOf(t)
	d := rapid.SampledFrom([]time.Duration{time.Hour, time.Hour, time.Millisecond, 0, -1}).Draw(t, "lease")
	want, wantErr := p.memory.Lease(p.ctx, key, writer, d)
	got, err := p.leaser.Lease(p.ctx, key, writer, d)
	same(t, fmt.Sprintf("run %q: lease of %q for %s", key, writer, d), err, wantErr)
	if err == nil && form(got) != form(want) {
		t.Fatalf("lease of %q for %s:\n got %s\nwant %s", writer, d, form(got), form(want))
	}
	if d == time.Millisecond {
		time.Sleep(5 * d)
	}
	p.compare(t, key)
}

func (p *pair) post(t *rapid.T) {
	i := len(p.posts)
	if i > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
		i = rapid.IntRange(0, i-1).Draw(t, "message")
	} else {
		p.posts = append(p.posts, fmt.Sprint("message ", i))
	}
	id := p.posts[i]
	m := note(p.keys[i%len(p.keys)], id) // a message has one ID, and one run
	same(t, fmt.Sprintf("run %q: post of %q", m.Key, id), p.store.inbox.Post(p.ctx, m), p.memory.Post(p.ctx, m))
	p.compare(t, m.Key)
}

// snapshot saves one, perhaps of fewer records than the last, or of more than there are.
func (p *pair) snapshot(t *rapid.T) {
	key := p.key(t)
	h, _ := p.memory.Head(p.ctx, key) // zero: there is none
	s := checkpoint.Snapshot{
		Records: rapid.IntRange(0, h.Last+1).Draw(t, "records"),
		Data:    rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "data"),
	}
	same(t, fmt.Sprintf("run %q: snapshot of %d records", key, s.Records), p.store.kept.SaveSnapshot(p.ctx, key, s), p.memory.SaveSnapshot(p.ctx, key, s))
	p.compare(t, key)
}

// value puts one, perhaps under an id that the run has already.
func (p *pair) value(t *rapid.T) {
	key, id := p.key(t), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id")
	data := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "data")
	same(t, fmt.Sprintf("run %q: put of value %q", key, id), p.store.values.PutValue(p.ctx, key, id, data), p.memory.PutValue(p.ctx, key, id, data))
	p.compare(t, key)
}

func (p *pair) delete(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "really") > 0 {
		t.Skip("not so often")
	}
	keys := rapid.SliceOfN(rapid.SampledFrom(p.keys), 0, 2).Draw(t, "keys")
	same(t, "delete", p.pruner.Delete(p.ctx, keys...), p.memory.Delete(p.ctx, keys...))
	for _, key := range keys {
		delete(p.stored, key)
		p.compare(t, key)
	}
}
