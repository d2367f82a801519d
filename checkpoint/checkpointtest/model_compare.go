package checkpointtest

import (
	"bytes"

	"pgregory.net/rapid"

	"github.com/segue-go/segue/checkpoint"
)

// compare reads all of a run, here and there.
func (p *pair) compare(t *rapid.T, key checkpoint.Key) {
	got, want := p.store.run(p.ctx, key, false), p.model.run(p.ctx, key, false)
	if got != want {
		t.Fatalf("run %q: got\n%s\nwant\n%s", key, got, want)
	}
	from := rapid.IntRange(0, 3).Draw(t, "from")
	if records, err := read(p.ctx, p.memory, key, from); err == nil {
		if err := expect(p.ctx, p.store.store, key, from, records); err != nil {
			t.Fatal(err)
		}
	}
	if p.store.values != nil {
		p.compareRanges(t, key)
	}
}

// compareRanges reads a range of each value of a run.
func (p *pair) compareRanges(t *rapid.T, key checkpoint.Key) {
	offset, length := int64(rapid.IntRange(-1, 9).Draw(t, "offset")), rapid.IntRange(-1, 9).Draw(t, "length")
	for _, id := range []string{"a", "b"} {
		got, size, err := p.store.values.ReadValue(p.ctx, key, id, offset, length)
		want, wantSize, wantErr := p.memory.ReadValue(p.ctx, key, id, offset, length)
		same(t, "value of run "+key.String(), err, wantErr)
		if size != wantSize || !bytes.Equal(got, want) {
			t.Fatalf("value %q of run %q, %d bytes from %d on: got %q of %d; want %q of %d", id, key, length, offset, got, size, want, wantSize)
		}
	}
}

// compareAll reads all runs, as they are at the end.
func (p *pair) compareAll(t *rapid.T) {
	for _, key := range p.keys {
		p.compare(t, key)
	}
}
