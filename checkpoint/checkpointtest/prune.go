package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// beginsAnew deletes a run of which everything is kept, and begins it anew: it has nothing of what
// it was.
func beginsAnew(ctx context.Context, s checkpoint.Store) error {
	p, err := able[checkpoint.Pruner](s)
	if err != nil {
		return err
	}
	for range 2 {
		if err := keepsEverything(ctx, s); err != nil {
			return err
		}
		if err := p.Delete(ctx, run); err != nil {
			return err
		}
		_, err := s.Head(ctx, run)
		if err := wraps(err, checkpoint.ErrNotFound, "head of a run that was deleted"); err != nil {
			return err
		}
		if err := wraps(s.Append(ctx, by(batch(run), owner, 9)), checkpoint.ErrNotFound, "append of no records to a run that was deleted"); err != nil {
			return err
		}
	}
	if err := errors.Join(put(ctx, s, by(batch(run, numbered(1, 1)...), other, 1)), isAnew(ctx, s)); err != nil {
		return fmt.Errorf("a run that begins anew: %w", err)
	}
	return nil
}

// keepsEverything begins the run with all that the store can keep of one.
func keepsEverything(ctx context.Context, s checkpoint.Store) error {
	first := by(batch(run, numbered(1, 3)...), owner, 9)
	header := fullHeader()
	first.Header, first.Lease = &header, time.Hour
	if err := put(ctx, s, first); err != nil {
		return err
	}
	if in, ok := checkpoint.As[checkpoint.Inbox](s); ok {
		if err := in.Post(ctx, note(run, "1")); err != nil {
			return err
		}
	}
	if kept, ok := checkpoint.As[checkpoint.SnapshotStore](s); ok {
		if err := kept.SaveSnapshot(ctx, run, checkpoint.Snapshot{Records: 1, Data: []byte("of a run that is deleted")}); err != nil {
			return err
		}
	}
	if large, ok := checkpoint.As[checkpoint.ValueStore](s); ok {
		return large.PutValue(ctx, run, "a", valueOf("deleted", 100_000))
	}
	return nil
}

// isAnew reports what else than one record is kept of the run.
func isAnew(ctx context.Context, s checkpoint.Store) error {
	anew := checkpoint.Head{Key: run, Header: checkpoint.Header{Status: checkpoint.StatusRunning}, Last: 1, Epoch: 1}
	err := errors.Join(expectHead(ctx, s, anew), expect(ctx, s, run, 1, numbered(1, 1)))
	if in, ok := checkpoint.As[checkpoint.Inbox](s); ok {
		err = errors.Join(err, (&posted{in, s}).expect(ctx, run))
	}
	if kept, ok := checkpoint.As[checkpoint.SnapshotStore](s); ok {
		err = errors.Join(err, expectNoSnapshot(ctx, kept, run))
	}
	if large, ok := checkpoint.As[checkpoint.ValueStore](s); ok {
		err = errors.Join(err, expectNoValue(ctx, large, run, "a"), expectValues(ctx, large, run))
	}
	return err
}

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
			err = expectNone(ctx, s, key(i), 1)
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
			err = expectNone(ctx, s, key, 1)
		} else {
			next, err = 3, expect(ctx, s, key, 1, journal(1, large, fmt.Sprint(i)))
		}
		if err := errors.Join(err, fill(ctx, s, key, numbered(next, 1))); err != nil {
			return fmt.Errorf("after a vacuum: %w", err)
		}
	}
	return nil
}
