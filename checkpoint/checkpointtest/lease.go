package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// moment is a lease that ends soon.
const moment = 20 * time.Millisecond

// takeOver takes a lease, if it must as soon as that of another has run out.
func takeOver(ctx context.Context, l checkpoint.Leaser, key checkpoint.Key, writer string, d time.Duration) (checkpoint.Head, error) {
	for {
		h, err := l.Lease(ctx, key, writer, d)
		if !errors.Is(err, checkpoint.ErrLeased) || ctx.Err() != nil {
			if err != nil {
				err = fmt.Errorf("run %.64q: lease: %w", key, err)
			}
			return h, err
		}
		time.Sleep(moment / 4)
	}
}

// leaseLasts takes leases for an hour and for two, and by an append.
func leaseLasts(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Leaser](s)
	if err != nil {
		return err
	}
	if err := fill(ctx, s, run, numbered(1, 2)); err != nil {
		return err
	}
	first, err := l.Lease(ctx, run, owner, time.Hour)
	if err != nil {
		return err
	}
	second, err := l.Lease(ctx, run, owner, 2*time.Hour)
	if err != nil {
		return err
	}
	if longer := second.Lease.Until.Sub(first.Lease.Until); longer < 59*time.Minute || longer > 61*time.Minute {
		return fmt.Errorf("a lease for two hours, taken after one for an hour, lasts longer by %s", longer)
	}
	if !second.Updated.Equal(first.Updated) || !second.Created.Equal(first.Created) {
		return errors.New("a lease changed when the run was created, or appended to last")
	}
	b := by(batch(run, numbered(3, 1)...), owner, second.Epoch)
	b.Lease = 2 * time.Hour
	if err := put(ctx, s, b); err != nil {
		return err
	}
	h, err := s.Head(ctx, run)
	if d := h.Lease.Until.Sub(h.Updated); err == nil && (d < 119*time.Minute || d > 121*time.Minute) {
		err = fmt.Errorf("a lease for two hours ends %s after the append that gave it", d)
	}
	return err
}
