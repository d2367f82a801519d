package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/checkpoint"
)

// newValued begins runs of one record in a store that keeps values.
func newValued(ctx context.Context, s checkpoint.Store, keys ...checkpoint.Key) (checkpoint.ValueStore, error) {
	v, err := able[checkpoint.ValueStore](s)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := fill(ctx, s, key, numbered(1, 1)); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// valueOf returns so many bytes, of which no two places look alike.
func valueOf(seed string, size int) []byte {
	data := make([]byte, 0, size+64)
	for i := 0; len(data) < size; i++ {
		data = fmt.Appendf(data, "%s %d\x00\xff\n", seed, i)
	}
	return data[:size]
}

// expectValue reads a range of a value and compares.
func expectValue(ctx context.Context, v checkpoint.ValueStore, key checkpoint.Key, id string, want []byte, offset int64, length int) error {
	got, size, err := v.ReadValue(ctx, key, id, offset, length)
	what := fmt.Sprintf("run %.64q: value %q of %d bytes: %d bytes from %d on", key, id, len(want), length, offset)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if size != int64(len(want)) {
		return fmt.Errorf("%s: its size is said to be %d", what, size)
	}
	if first, end := checkpoint.Span(size, offset, length); !bytes.Equal(got, want[first:end]) {
		return fmt.Errorf("%s: got %d bytes, %.40q; want %d, %.40q", what, len(got), got, end-first, want[first:end])
	}
	return nil
}

func expectNoValue(ctx context.Context, v checkpoint.ValueStore, key checkpoint.Key, id string) error {
	got, size, err := v.ReadValue(ctx, key, id, 0, 1)
	return wraps(err, checkpoint.ErrNotFound, "run %.64q: value %q that it does not have: %q, of %d bytes, and", key, id, got, size)
}

// valueRanges reads ranges of values at and beside every place where one could be cut.
func valueRanges(ctx context.Context, s checkpoint.Store) error {
	const part = 64 << 10
	v, err := newValued(ctx, s, run)
	if err != nil {
		return err
	}
	for _, size := range []int{0, 1, 1000, part - 1, part, part + 1, 3*part + 5} {
		id, want := fmt.Sprint("of-", size), valueOf("range", size)
		if err := v.PutValue(ctx, run, id, want); err != nil {
			return err
		}
		for _, offset := range []int{-5, 0, 1, part - 2, part - 1, part, part + 1, 2*part - 1, 2 * part, 3 * part, size - 1, size, size + 1, 1 << 40} {
			for _, length := range []int{-1, 0, 1, 2, part, part + 1, 2 * part, 1 << 40} {
				if err := expectValue(ctx, v, run, id, want, int64(offset), length); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// valueKept writes over what it handed over and got.
func valueKept(ctx context.Context, s checkpoint.Store) error {
	v, err := newValued(ctx, s, run)
	if err != nil {
		return err
	}
	for _, size := range []int{100, 1 << 20} {
		id, want := fmt.Sprint("of-", size), valueOf("kept", size)
		given := bytes.Clone(want)
		if err := v.PutValue(ctx, run, id, given); err != nil {
			return err
		}
		clear(given)
		for range 2 {
			if err := expectValue(ctx, v, run, id, want, 0, size); err != nil {
				return err
			}
			got, _, err := v.ReadValue(ctx, run, id, 0, size)
			if err != nil {
				return err
			}
			clear(got)
		}
	}
	return nil
}

// valueIDs puts values under ids that can be, and that cannot.
func valueIDs(ctx context.Context, s checkpoint.Store) error {
	v, err := newValued(ctx, s, run)
	if err != nil {
		return err
	}
	if err := wraps(v.PutValue(ctx, named(""), "a", valueOf("none", 9)), checkpoint.ErrID, "put of a value of a run without an id"); err != nil {
		return err
	}
	for _, id := range []string{"", "a b", "a\n", "ä", "\x00", "a\x7f", strings.Repeat("x", 65)} {
		if err := wraps(v.PutValue(ctx, run, id, valueOf("id", 9)), checkpoint.ErrID, "put of a value of the id %q", id); err != nil {
			return err
		}
		if err := expectNoValue(ctx, v, run, id); err != nil {
			return err
		}
	}
	for _, id := range []string{"a", "A", "%", "_", "'", "!", "~", strings.Repeat("x", 64)} {
		if err := v.PutValue(ctx, run, id, valueOf(id, 9)); err != nil {
			return err
		}
		if err := expectValue(ctx, v, run, id, valueOf(id, 9), 0, 9); err != nil {
			return err
		}
	}
	list, err := v.Values(ctx, run)
	if err == nil && len(list) != 8 {
		err = fmt.Errorf("the run has %d values, want 8: %v", len(list), list)
	}
	return err
}

// valuesAtOnce has several put the same values at once, and reads them meanwhile: what is read is
// whole.
func valuesAtOnce(ctx context.Context, s checkpoint.Store) error {
	const values, writers, size = 6, 4, 150_000
	v, err := newValued(ctx, s, run)
	if err != nil {
		return err
	}
	id := func(n int) string { return fmt.Sprint("value-", n) }
	check := func(n int) error { return expectValue(ctx, v, run, id(n), valueOf(id(n), size), 0, size) }
	looked := 0
	err = meanwhile(func() error {
		looked++
		if err := check(looked % values); !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
		return nil
	}, writers, func(int) error {
		for n := range values {
			if err := v.PutValue(ctx, run, id(n), valueOf(id(n), size)); err != nil {
				return err
			}
		}
		return nil
	})
	for n := range values {
		err = errors.Join(err, check(n))
	}
	return err
}

// damagedValue damages a value: a range in which the damage lies is an error that names the run,
// and other values and the records are as they were.
func damagedValue(ctx context.Context, f Faulty) error {
	if f.DamageValue == nil {
		return lacking("DamageValue")
	}
	v, err := newValued(ctx, f.Store, run)
	if err != nil {
		return err
	}
	want := valueOf("damage", 200_000)
	for _, id := range []string{"damaged", "whole"} {
		if err := v.PutValue(ctx, run, id, want); err != nil {
			return err
		}
	}
	if err := f.DamageValue(run, "damaged"); err != nil {
		return fmt.Errorf("the damage cannot be done: %w", err)
	}
	got, _, err := v.ReadValue(ctx, run, "damaged", 0, len(want))
	if err := wraps(err, checkpoint.ErrCorrupt, "read of a value that is damaged: %d bytes, and", len(got)); err != nil {
		return err
	}
	if !strings.Contains(err.Error(), run.Run) || !strings.Contains(err.Error(), "damaged") {
		return fmt.Errorf("an error that does not name the run and the value: %w", err)
	}
	return errors.Join(expectValue(ctx, v, run, "whole", want, 0, len(want)), expect(ctx, f.Store, run, 1, numbered(1, 1)))
}
