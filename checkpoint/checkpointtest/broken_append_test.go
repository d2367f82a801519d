package checkpointtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// last returns the place of the last record.
func last(m *memory, key checkpoint.Key) (seq int) {
	for r := range m.Read(context.Background(), key, 1) {
		seq = r.Seq
	}
	return seq
}

// renumbers puts records where there is room.
func renumbers(ctx context.Context, m *memory, b checkpoint.Batch) error {
	b.Records = slices.Clone(b.Records)
	for i := range b.Records {
		b.Records[i].Seq = last(m, b.Key) + 1 + i
	}
	return m.Append(ctx, b)
}

// appendsInPart keeps the records before one that conflicts.
func appendsInPart(ctx context.Context, m *memory, b checkpoint.Batch) error {
	for _, r := range b.Records {
		part := b
		part.Records = []record{r}
		if err := m.Append(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// looksThenLeaps lets everybody succeed who saw room.
func looksThenLeaps(ctx context.Context, m *memory, b checkpoint.Batch) error {
	room := len(b.Records) > 0 && b.Records[0].Seq == last(m, b.Key)+1
	time.Sleep(time.Millisecond)
	err := m.Append(ctx, b)
	if room && errors.Is(err, checkpoint.ErrConflict) {
		return nil
	}
	return err
}

// wrapsNothing makes texts of errors.
func wrapsNothing(ctx context.Context, m *memory, b checkpoint.Batch) error {
	if err := m.Append(ctx, b); err != nil {
		return fmt.Errorf("it failed: %s", err.Error())
	}
	return nil
}

// edits keeps something else than it is given.
func edits(edit func(string) string) flaws {
	return flaws{append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
		b.Records = slices.Clone(b.Records)
		for i := range b.Records {
			b.Records[i].Data = []byte(edit(string(b.Records[i].Data)))
		}
		return m.Append(ctx, b)
	}}
}

// renames takes several ids for one.
func renames(rename func(string) string) flaws {
	return flaws{
		append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
			b.Key.Run = rename(b.Key.Run)
			return m.Append(ctx, b)
		},
		read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			key.Run = rename(key.Run)
			return m.Read(ctx, key, from)
		},
	}
}

// keepsSlices is a store that holds what it was handed; where own is true it hands that out, too.
func keepsSlices(own bool) flaws {
	kept := map[*memory][]record{} // for checks of one run and one goroutine
	return flaws{
		append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
			err := m.Append(ctx, b)
			if err == nil {
				kept[m] = append(kept[m], b.Records...)
			}
			return err
		},
		read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			return filtered(m.Read(ctx, key, from), func(r record) record {
				r = kept[m][r.Seq-1]
				if !own {
					r.Data = bytes.Clone(r.Data)
				}
				return r
			})
		},
	}
}

// hashed makes an id of what cannot be one.
func hashed(id string) string {
	if id == "" || (checkpoint.Key{Run: id}).Check() == nil {
		return id
	}
	return fmt.Sprintf("%x", id[:min(len(id), 64)])
}

// repaired leaves out what cannot stand in an id.
func repaired(id string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(id, "\ufffd"), "\x00", "")
}

// halves appends a batch in two goes, between which it can be read.
func halves(ctx context.Context, m *memory, b checkpoint.Batch) error {
	first, second := b, b
	half := len(b.Records) / 2
	first.Records, second.Records = b.Records[:half], b.Records[half:]
	if err := m.Append(ctx, first); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return m.Append(ctx, second)
}
