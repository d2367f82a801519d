package checkpointtest

import (
	"bytes"
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/segue-go/segue/checkpoint"
)

// compare reads all of a run, here and there.
func (p *pair) compare(t *rapid.T, key checkpoint.Key) {
	want, wantErr := p.memory.Head(p.ctx, key)
	got, err := p.store.Head(p.ctx, key)
	same(t, "head of run "+key.String(), err, wantErr)
	if err == nil && form(got) != form(want) {
		t.Fatalf("head:\n got %s\nwant %s", form(got), form(want))
	}
	from := rapid.IntRange(0, 3).Draw(t, "from")
	records, wantErr := read(p.ctx, p.memory, key, from)
	if wantErr != nil {
		_, err := read(p.ctx, p.store, key, from)
		same(t, "read of run "+key.String(), err, wantErr)
	} else if err := expect(p.ctx, p.store, key, from, records); err != nil {
		t.Fatal(err)
	}
	if p.inbox != nil {
		p.compareMessages(t, key)
	}
	if p.kept != nil {
		p.compareSnapshots(t, key)
	}
	if p.values != nil {
		p.compareValues(t, key)
	}
}

// compareValues lists the values of a run, and reads a range of each.
func (p *pair) compareValues(t *rapid.T, key checkpoint.Key) {
	got, err := p.values.Values(p.ctx, key)
	want, wantErr := p.memory.Values(p.ctx, key)
	same(t, "values of run "+key.String(), err, wantErr)
	if !slices.Equal(got, want) {
		t.Fatalf("values of run %q: got %v; want %v", key, got, want)
	}
	offset, length := int64(rapid.IntRange(-1, 9).Draw(t, "offset")), rapid.IntRange(-1, 9).Draw(t, "length")
	for _, id := range []string{"a", "b"} {
		got, size, err := p.values.ReadValue(p.ctx, key, id, offset, length)
		want, wantSize, wantErr := p.memory.ReadValue(p.ctx, key, id, offset, length)
		same(t, "value of run "+key.String(), err, wantErr)
		if size != wantSize || !bytes.Equal(got, want) {
			t.Fatalf("value %q of run %q, %d bytes from %d on: got %q of %d; want %q of %d", id, key, length, offset, got, size, want, wantSize)
		}
	}
}

func (p *pair) compareSnapshots(t *rapid.T, key checkpoint.Key) {
	got, err := p.kept.Snapshot(p.ctx, key)
	want, wantErr := p.memory.Snapshot(p.ctx, key)
	same(t, "snapshot of run "+key.String(), err, wantErr)
	if err == nil && (got.Records != want.Records || !bytes.Equal(got.Data, want.Data)) {
		t.Fatalf("snapshot of run %q: got %d records, %q; want %d, %q", key, got.Records, got.Data, want.Records, want.Data)
	}
}

func (p *pair) compareMessages(t *rapid.T, key checkpoint.Key) {
	got, err := p.inbox.Posted(p.ctx, key)
	want, wantErr := p.memory.Posted(p.ctx, key)
	same(t, "messages to run "+key.String(), err, wantErr)
	equal := slices.EqualFunc(got, want, func(a, b checkpoint.Message) bool {
		return a.ID == b.ID && a.Key == b.Key && bytes.Equal(a.Data, b.Data)
	})
	if !equal {
		t.Fatalf("messages to run %q: got %d, %+v; want %d, %+v", key, len(got), got, len(want), want)
	}
}

// compareAll reads all runs, as they are at the end.
func (p *pair) compareAll(t *rapid.T) {
	for _, key := range p.keys {
		p.compare(t, key)
	}
}

// query draws one. Of every namespace it asks only if no runs of other cases are there.
func (p *pair) query(t *rapid.T) checkpoint.Query {
	q := checkpoint.Query{
		Namespace: p.key(t).Namespace,
		All:       p.pruner != nil && rapid.Bool().Draw(t, "all"),
		Unleased:  p.leaser != nil && rapid.IntRange(0, 3).Draw(t, "unleased") == 0,
		Posted:    p.inbox != nil && rapid.IntRange(0, 3).Draw(t, "posted") == 0,
		Limit:     rapid.IntRange(1, 5).Draw(t, "limit"),
	}
	like := p.header(t, true)
	for _, field := range rapid.SliceOfN(rapid.SampledFrom([]string{"status", "strategy", "labels", "wait", "origin", "due"}), 0, 2).Draw(t, "fields") {
		switch field {
		case "status":
			q.Status = []checkpoint.Status{like.Status, checkpoint.StatusDone}
		case "strategy":
			q.Strategy = like.Strategy
		case "labels":
			q.Labels = like.Labels
		case "wait":
			q.Wait = rapid.SampledFrom([]string{"a", "A", "é"}).Draw(t, "wait")
		case "origin":
			q.Origin = like.Origin.Run
		case "due":
			q.Due = like.Due
		}
	}
	return q
}

// list goes through the pages of a list, here and there.
func (p *pair) list(t *rapid.T) {
	q := p.query(t)
	want, wantErr := pages(p.ctx, p.memory, q, nothingBetween)
	got, err := pages(p.ctx, p.lister, q, nothingBetween)
	if err := errors.Join(err, wantErr, inOrder(got)); err != nil {
		t.Fatal(err)
	}
	if g, w := forms(got), forms(want); !slices.Equal(g, w) {
		t.Fatalf("list of %+v:\n got %q\nwant %q", q, g, w)
	}
}

// forms says how runs stand, in an order that is not that of their times.
func forms(heads []checkpoint.Head) []string {
	all := make([]string, len(heads))
	for i, h := range heads {
		all[i] = form(h)
	}
	slices.Sort(all)
	return all
}
