package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// retried appends a batch that was appended already: nothing changes.
func retried(ctx context.Context, s checkpoint.Store, b checkpoint.Batch) error {
	return unchanged(ctx, s, b.Key, func() error {
		if err := put(ctx, s, b); err != nil {
			return fmt.Errorf("the very same batch again: %w", err)
		}
		return nil
	})
}

// retry makes the very same Append again and again.
func retry(ctx context.Context, s checkpoint.Store) error {
	first, second, third := batch(run, numbered(1, 3)...), batch(run, numbered(4, 1)...), batch(run, numbered(5, 20)...)
	second.Header, second.Progress, second.Lease = nil, true, time.Hour
	third.Lease = -1
	for _, b := range []checkpoint.Batch{first, second, third} {
		if err := put(ctx, s, b); err != nil {
			return err
		}
		for range 3 {
			if err := retried(ctx, s, b); err != nil {
				return err
			}
		}
	}
	if err := refusedAs(ctx, s, first, checkpoint.ErrConflict); err != nil {
		return fmt.Errorf("a batch of the same writer that is not the last one any more: %w", err)
	}
	return expect(ctx, s, run, 1, numbered(1, 24))
}

// refusedAs checks that a batch is refused, and that the run is as it was.
func refusedAs(ctx context.Context, s checkpoint.Store, b checkpoint.Batch, target error) error {
	return unchanged(ctx, s, b.Key, func() error {
		return wraps(s.Append(ctx, b), target, "append of records %s by %q in epoch %d", places(b.Records), b.Writer, b.Epoch)
	})
}

// anotherWriter appends what somebody else has appended.
func anotherWriter(ctx context.Context, s checkpoint.Store) error {
	first := batch(run, numbered(1, 3)...)
	if err := put(ctx, s, first); err != nil {
		return err
	}
	for _, epoch := range []int64{1, 2, 100} {
		if err := refusedAs(ctx, s, by(first, other, epoch), checkpoint.ErrConflict); err != nil {
			return fmt.Errorf("the very same records, by another writer: %w", err)
		}
	}
	if err := put(ctx, s, by(batch(run, numbered(4, 2)...), other, 2)); err != nil {
		return err
	}
	for _, b := range []checkpoint.Batch{first, batch(run, numbered(4, 2)...), batch(run, numbered(6, 1)...)} {
		if err := refusedAs(ctx, s, b, checkpoint.ErrConflict); err != nil {
			return fmt.Errorf("a writer after whom another has appended: %w", err)
		}
	}
	return nil
}

// retryAfterLease has another take the run over between an Append and the same Append again.
func retryAfterLease(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Leaser](s)
	if err != nil {
		return err
	}
	b := batch(run, numbered(1, 2)...)
	b.Lease = moment
	if err := put(ctx, s, b); err != nil {
		return err
	}
	if _, err := takeOver(ctx, l, run, other, time.Hour); err != nil {
		return err
	}
	if err := retried(ctx, s, b); err != nil {
		return fmt.Errorf("after another has taken the lease: %w", err)
	}
	return refusedAs(ctx, s, batch(run, numbered(3, 1)...), checkpoint.ErrFenced)
}

// fences appends in epochs that have passed.
func fences(ctx context.Context, s checkpoint.Store) error {
	if err := put(ctx, s, by(batch(run, numbered(1, 2)...), owner, 5)); err != nil {
		return err
	}
	for _, epoch := range []int64{4, 1, 0, -1} {
		for _, records := range [][]checkpoint.Record{numbered(3, 1), numbered(3, 4), numbered(2, 1), numbered(9, 1), nil} {
			b := by(batch(run, records...), other, epoch)
			b.Lease, b.Header = time.Hour, &checkpoint.Header{Status: checkpoint.StatusFailed}
			if err := errors.Join(refusedAs(ctx, s, b, checkpoint.ErrFenced), refusedAs(ctx, s, b, checkpoint.ErrConflict)); err != nil {
				return fmt.Errorf("an epoch that has passed: %w", err)
			}
		}
	}
	if err := put(ctx, s, by(batch(run, numbered(3, 1)...), other, 5)); err != nil {
		return fmt.Errorf("in the epoch of the run: %w", err)
	}
	return nil
}

// epochRises follows the epoch of a run.
func epochRises(ctx context.Context, s checkpoint.Store) error {
	want := checkpoint.Head{Key: run, Header: checkpoint.Header{Status: checkpoint.StatusRunning}}
	for _, epoch := range []int64{2, 3, 7, 1 << 40, 1<<62 + 1} {
		want.Last, want.Epoch = want.Last+1, epoch
		if err := put(ctx, s, by(batch(run, numbered(want.Last, 1)...), owner, epoch)); err != nil {
			return err
		}
		if err := expectHead(ctx, s, want); err != nil {
			return err
		}
		if err := refusedAs(ctx, s, by(batch(run, numbered(want.Last, 1)...), other, epoch+1), checkpoint.ErrConflict); err != nil {
			return fmt.Errorf("a conflict in a higher epoch: %w", err)
		}
		want.Epoch++
		if err := put(ctx, s, by(batch(run), owner, want.Epoch)); err != nil {
			return fmt.Errorf("a batch without records: %w", err)
		}
		if err := expectHead(ctx, s, want); err != nil {
			return fmt.Errorf("a batch without records: %w", err)
		}
		if err := refusedAs(ctx, s, by(batch(run, numbered(want.Last+1, 1)...), other, epoch), checkpoint.ErrFenced); err != nil {
			return err
		}
	}
	return nil
}
