package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segue-go/segue/checkpoint"
)

// deletesMany deletes many runs at once, and no others.
func deletesMany(ctx context.Context, s checkpoint.Store) error {
	p, err := able[checkpoint.Pruner](s)
	if err != nil {
		return err
	}
	const runs = 40
	var gone []checkpoint.Key
	key := func(i int) checkpoint.Key {
		return checkpoint.Key{Namespace: strings.Repeat("n", i%2), Run: fmt.Sprint("run ", i/2)}
	}
	for i := range runs {
		if err := fill(ctx, s, key(i), numbered(1, 2)); err != nil {
			return err
		}
		if i%4 < 2 == (i%3 == 0) { // of some both namespaces, of some one
			gone = append(gone, key(i), named("missing"), key(i))
		}
	}
	if err := errors.Join(p.Delete(ctx), p.Delete(ctx, gone...)); err != nil {
		return err
	}
	for i := range runs {
		if i%4 < 2 == (i%3 == 0) {
			err = expectNone(ctx, s, key(i))
		} else {
			err = expect(ctx, s, key(i), 1, numbered(1, 2))
		}
		if err != nil {
			return fmt.Errorf("after others were deleted: %w", err)
		}
	}
	return nil
}

// vacuum gives up what deleted runs leave, and nothing else.
func vacuum(ctx context.Context, s checkpoint.Store) error {
	p, err := able[checkpoint.Pruner](s)
	if err != nil {
		return err
	}
	large := strings.Repeat("0123456789abcdef", 1<<12)
	for i := range 8 {
		if err := fill(ctx, s, named(fmt.Sprint("run ", i)), journal(1, large, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	if err := p.Vacuum(ctx); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	for i := 0; i < 8; i += 2 {
		if err := p.Delete(ctx, named(fmt.Sprint("run ", i))); err != nil {
			return err
		}
	}
	for range 2 {
		if err := p.Vacuum(ctx); err != nil {
			return fmt.Errorf("vacuum after a delete: %w", err)
		}
	}
	for i := range 8 {
		key := named(fmt.Sprint("run ", i))
		next := 1
		if i%2 == 0 {
			err = expectNone(ctx, s, key)
		} else {
			next, err = 3, expect(ctx, s, key, 1, journal(1, large, fmt.Sprint(i)))
		}
		if err := errors.Join(err, fill(ctx, s, key, numbered(next, 1))); err != nil {
			return fmt.Errorf("after a vacuum: %w", err)
		}
	}
	return nil
}
