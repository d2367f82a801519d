package checkpointtest

import (
	"context"
	"fmt"

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

// refusedAs checks that a batch is refused, and that the run is as it was.
func refusedAs(ctx context.Context, s checkpoint.Store, b checkpoint.Batch, target error) error {
	return unchanged(ctx, s, b.Key, func() error {
		return wraps(s.Append(ctx, b), target, "append of records %s by %q in epoch %d", places(b.Records), b.Writer, b.Epoch)
	})
}
