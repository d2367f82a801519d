package checkpointtest_test

import (
	"context"
	"errors"

	"github.com/segue-go/segue/checkpoint"
)

// sharesBuffer is a Read that hands out one buffer again and again.
func sharesBuffer(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
	var buffer []byte
	return filtered(m.Read(ctx, key, from), func(r record) record {
		buffer = append(buffer[:0], r.Data...)
		r.Data = buffer
		return r
	})
}

func filtered(all records, f func(record) record) records {
	return func(yield func(record, error) bool) {
		for r, err := range all {
			if err == nil {
				r = f(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// findsAnything is a Read of which a run without records is an empty one.
func findsAnything(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
	return func(yield func(record, error) bool) {
		for r, err := range m.Read(ctx, key, from) {
			if errors.Is(err, checkpoint.ErrNotFound) || !yield(r, err) {
				return
			}
		}
	}
}

// readsAnew is a Read that looks for each record anew.
func readsAnew(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
	return func(yield func(record, error) bool) {
		for seq, more := from, true; more; {
			more = false
			for r, err := range m.Read(ctx, key, seq) {
				seq, more = r.Seq+1, err == nil
				if !yield(r, err) {
					return
				}
				break
			}
		}
	}
}

// readsOnce is a Read whose sequence is good for one range.
func readsOnce(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
	used := false
	return func(yield func(record, error) bool) {
		if !used {
			used = true
			m.Read(ctx, key, from)(yield)
		}
	}
}

// locks is a store that nobody can write while it is read.
func locks() flaws {
	lock := make(chan struct{}, 1)
	return flaws{
		append: func(ctx context.Context, m *memory, b checkpoint.Batch) error {
			select {
			case lock <- struct{}{}:
				defer func() { <-lock }()
				return m.Append(ctx, b)
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		read: func(ctx context.Context, m *memory, key checkpoint.Key, from int) records {
			return func(yield func(record, error) bool) {
				lock <- struct{}{}
				defer func() { <-lock }()
				m.Read(ctx, key, from)(yield)
			}
		},
	}
}
