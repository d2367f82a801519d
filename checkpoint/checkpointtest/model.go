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
		p := newRandom(ctx, s, fmt.Sprint("case ", n))
		defer p.forget()
		t.Repeat(p.actions())
		if err := p.compare(p.keys...); err != nil {
			t.Fatal(err)
		}
	})
}

// random is a pair that is driven by random operations.
type random struct {
	*pair
	stored map[checkpoint.Key]checkpoint.Batch // the last one that was appended
	posts  []string                            // the IDs of all messages
}

// newRandom makes one whose runs are apart from those of other cases.
func newRandom(ctx context.Context, s checkpoint.Store, name string) *random {
	r := &random{pair: newPair(ctx, s), stored: map[checkpoint.Key]checkpoint.Batch{}}
	for _, namespace := range []string{name, name + "/a"} {
		r.keys = append(r.keys, checkpoint.Key{Namespace: namespace, Run: "a/b"}, checkpoint.Key{Namespace: namespace, Run: "b"})
	}
	return r
}

// forget deletes the runs of the case.
func (p *random) forget() {
	if p.store.pruner != nil {
		_ = p.store.pruner.Delete(context.WithoutCancel(p.ctx), p.keys...)
	}
}

func (p *random) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){"append": p.drawAppend, "append more": p.drawAppend, "retry": p.retry}
	if p.store.lister != nil {
		actions["list"] = p.drawList
	}
	if p.store.inbox != nil {
		actions["post"] = p.drawPost
	}
	if p.store.leaser != nil {
		actions["lease"] = p.drawLease
	}
	if p.store.pruner != nil {
		actions["delete"] = p.drawDelete
	}
	if p.store.kept != nil {
		actions["snapshot"] = p.drawSnapshot
	}
	if p.store.values != nil {
		actions["value"] = p.drawValue
	}
	return actions
}

// must fails if the two differ, and otherwise compares a part of a run.
func (p *random) must(t *rapid.T, key checkpoint.Key, err error) {
	if err == nil {
		err = p.read(key, rapid.IntRange(0, 3).Draw(t, "from"))
	}
	if err == nil && p.store.values != nil {
		offset, length := int64(rapid.IntRange(-1, 9).Draw(t, "offset")), rapid.IntRange(-1, 9).Draw(t, "length")
		err = errors.Join(p.value(key, "a", offset, length), p.value(key, "b", offset, length))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *random) key(t *rapid.T) checkpoint.Key { return rapid.SampledFrom(p.keys).Draw(t, "key") }

func writerOf(t *rapid.T) string {
	return rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "writer")
}

// drawAppend appends a batch that is right, or fenced, or in a wrong place.
func (p *random) drawAppend(t *rapid.T) {
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
	if p.store.leaser != nil {
		b.Lease = rapid.SampledFrom([]time.Duration{0, 0, time.Hour, -1}).Draw(t, "lease")
		b.Progress = rapid.Bool().Draw(t, "progress")
	}
	if p.store.inbox != nil && len(p.posts) > 0 {
		b.Taken = rapid.SliceOfN(rapid.SampledFrom(p.posts), 0, 2).Draw(t, "taken")
	}
	if last := p.stored[key]; n > 0 && last.Writer == b.Writer && next+n-1 == h.Last {
		t.Skip("a writer that appends something else in the places of what it has appended")
	}
	p.appends(t, b)
}

func (p *random) appends(t *rapid.T, b checkpoint.Batch) {
	err := p.append(b)
	if p.said == "" && len(b.Records) > 0 {
		p.stored[b.Key] = b
	}
	p.must(t, b.Key, err)
}

// retry appends the last batch of a run again, whatever has become of the run since.
func (p *random) retry(t *rapid.T) {
	b, ok := p.stored[p.key(t)]
	if !ok {
		t.Skip("there is none")
	}
	p.appends(t, b)
}

// header draws one, or none unless there must be one.
func (p *random) header(t *rapid.T, must bool) *checkpoint.Header {
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

// drawLease takes, keeps or ends a lease, or takes one that has run out when it is done.
func (p *random) drawLease(t *rapid.T) {
	key := p.key(t)
	d := rapid.SampledFrom([]time.Duration{time.Hour, time.Hour, time.Millisecond, 0, -1}).Draw(t, "lease")
	err := p.lease(key, writerOf(t), d)
	if d == time.Millisecond {
		time.Sleep(5 * d)
	}
	p.must(t, key, err)
}

func (p *random) drawPost(t *rapid.T) {
	i := len(p.posts)
	if i > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
		i = rapid.IntRange(0, i-1).Draw(t, "message")
	} else {
		p.posts = append(p.posts, fmt.Sprint("message ", i))
	}
	m := note(p.keys[i%len(p.keys)], p.posts[i]) // a message has one ID, and one run
	p.must(t, m.Key, p.post(m))
}

// drawSnapshot saves one, perhaps of fewer records than the last, or of more than there are.
func (p *random) drawSnapshot(t *rapid.T) {
	key := p.key(t)
	h, _ := p.memory.Head(p.ctx, key) // zero: there is none
	s := checkpoint.Snapshot{
		Records: rapid.IntRange(0, h.Last+1).Draw(t, "records"),
		Data:    rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "data"),
	}
	p.must(t, key, p.save(key, s))
}

// drawValue puts one, perhaps under an id that the run has already.
func (p *random) drawValue(t *rapid.T) {
	key, id := p.key(t), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id")
	p.must(t, key, p.put(key, id, rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "data")))
}

func (p *random) drawDelete(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "really") > 0 {
		t.Skip("not so often")
	}
	keys := rapid.SliceOfN(rapid.SampledFrom(p.keys), 0, 2).Draw(t, "keys")
	for _, key := range keys {
		delete(p.stored, key)
	}
	p.must(t, p.keys[0], p.delete(keys...))
}

// drawList asks for runs of a namespace by any fields.
func (p *random) drawList(t *rapid.T) {
	text := rapid.SampledFrom([]string{"", "", "", "a", "A", "é"})
	q := checkpoint.Query{
		Namespace: p.key(t).Namespace, Unleased: rapid.Bool().Draw(t, "unleased"), Posted: p.store.inbox != nil && rapid.Bool().Draw(t, "posted"),
		Strategy: text.Draw(t, "strategy"), Origin: text.Draw(t, "origin"), Wait: text.Draw(t, "wait"), Limit: rapid.IntRange(0, 2).Draw(t, "limit"),
		Status: rapid.SliceOfN(rapid.SampledFrom([]checkpoint.Status{checkpoint.StatusRunning, checkpoint.StatusWaiting}), 0, 2).Draw(t, "status"),
		Labels: rapid.MapOfN(text, text, 0, 1).Draw(t, "labels"),
	}
	if days := rapid.IntRange(0, 3).Draw(t, "due"); days > 0 {
		q.Due = dueSoon.AddDate(0, 0, days)
	}
	p.must(t, p.keys[0], p.list(q))
}
