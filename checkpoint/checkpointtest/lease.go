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

// leased is the test of leases of one run.
type leased struct {
	l    checkpoint.Leaser
	s    checkpoint.Store
	want checkpoint.Head
}

// newLeased fills a run of a store that can be leased.
func newLeased(ctx context.Context, s checkpoint.Store) (*leased, error) {
	l, err := able[checkpoint.Leaser](s)
	if err != nil {
		return nil, err
	}
	want := checkpoint.Head{Key: run, Header: checkpoint.Header{Status: checkpoint.StatusRunning}, Last: 2, Epoch: 1}
	return &leased{l, s, want}, fill(ctx, s, run, numbered(1, 2))
}

// take takes the lease, once it can be had, and expects the head that is wanted.
func (x *leased) take(ctx context.Context, writer string, d time.Duration) (checkpoint.Head, error) {
	h, err := takeOver(ctx, x.l, run, writer, d)
	if err != nil {
		return h, err
	}
	if form(h) != form(x.want) {
		return h, fmt.Errorf("lease of %q for %s:\n got %s\nwant %s", writer, d, form(h), form(x.want))
	}
	again, err := x.s.Head(ctx, run)
	if err == nil && whole(again) != whole(h) {
		err = fmt.Errorf("lease of %q for %s returned\n     %s\nand Head\n     %s", writer, d, whole(h), whole(again))
	}
	return h, err
}

// refused expects that a lease cannot be had.
func (x *leased) refused(ctx context.Context, writer string) error {
	return unchanged(ctx, x.s, run, func() error {
		_, err := x.l.Lease(ctx, run, writer, time.Hour)
		return wraps(err, checkpoint.ErrLeased, "lease of %q while somebody else has it", writer)
	})
}

// leaseHeld takes a lease, keeps it, and gives it up.
func leaseHeld(ctx context.Context, s checkpoint.Store) error {
	x, err := newLeased(ctx, s)
	if err != nil {
		return err
	}
	x.want.Epoch, x.want.Lease.Writer = 2, owner
	first, err := x.take(ctx, owner, time.Hour)
	if err != nil {
		return err
	}
	if err := x.refused(ctx, other); err != nil {
		return err
	}
	second, err := x.take(ctx, owner, 2*time.Hour) // the heartbeat: the epoch is the same
	if err != nil {
		return fmt.Errorf("the heartbeat: %w", err)
	}
	if longer := second.Lease.Until.Sub(first.Lease.Until); longer < 59*time.Minute || longer > 61*time.Minute {
		return fmt.Errorf("a lease for two hours, taken after one for an hour, lasts longer by %s", longer)
	}
	if !second.Updated.Equal(first.Updated) || !second.Created.Equal(first.Created) {
		return errors.New("a lease changed when the run was created, or appended to last")
	}
	if _, err := x.take(ctx, other, -1); err != nil {
		return fmt.Errorf("the end of a lease that one has not: %w", err)
	}
	for range 2 {
		x.want.Lease.Writer = ""
		if _, err := x.take(ctx, owner, 0); err != nil {
			return fmt.Errorf("the end of a lease: %w", err)
		}
	}
	x.want.Epoch, x.want.Lease.Writer = 3, other // released, not run out: no recovery
	_, err = x.take(ctx, other, time.Hour)
	return err
}

// leaseEnds has leases run out.
func leaseEnds(ctx context.Context, s checkpoint.Store) error {
	x, err := newLeased(ctx, s)
	if err != nil {
		return err
	}
	x.want.Epoch, x.want.Lease.Writer = 2, owner
	for range 2 {
		if _, err := x.take(ctx, owner, moment); err != nil {
			return err
		}
		time.Sleep(2 * moment) // nobody has taken it, so the writer has it still
	}
	if _, err := x.take(ctx, owner, moment); err != nil {
		return err
	}
	writers := []string{other, owner, "another one"}
	for i, writer := range writers {
		x.want.Epoch, x.want.Recoveries, x.want.Lease.Writer = int64(3+i), 1+i, writer
		if _, err := x.take(ctx, writer, moment); err != nil {
			return fmt.Errorf("after the lease of another had run out: %w", err)
		}
	}
	return expect(ctx, s, run, 1, numbered(1, 2))
}

// leaseFences has a writer go on after its lease has gone to another.
func leaseFences(ctx context.Context, s checkpoint.Store) error {
	x, err := newLeased(ctx, s)
	if err != nil {
		return err
	}
	x.want.Epoch, x.want.Lease.Writer = 2, other
	h, err := x.take(ctx, other, time.Hour)
	if err != nil {
		return err
	}
	for _, records := range [][]checkpoint.Record{numbered(3, 1), nil} {
		if err := refusedAs(ctx, s, batch(run, records...), checkpoint.ErrFenced); err != nil {
			return fmt.Errorf("after another took the lease: %w", err)
		}
	}
	if err := put(ctx, s, by(batch(run, numbered(3, 1)...), other, h.Epoch)); err != nil {
		return fmt.Errorf("by who took the lease: %w", err)
	}
	return nil
}

// leaseByAppend takes, keeps and ends leases by batches.
func leaseByAppend(ctx context.Context, s checkpoint.Store) error {
	x, err := newLeased(ctx, s)
	if err != nil {
		return err
	}
	step := func(writer string, d time.Duration, records int, holder string) error {
		b := by(batch(run, numbered(x.want.Last+1, records)...), writer, 1)
		b.Lease = d
		x.want.Last, x.want.Lease.Writer = x.want.Last+records, holder
		if err := put(ctx, s, b); err != nil {
			return err
		}
		if err := expectHead(ctx, s, x.want); err != nil {
			return fmt.Errorf("append of %d records by %q with a lease for %s: %w", records, writer, d, err)
		}
		return nil
	}
	for range 2 {
		for _, records := range []int{1, 0} {
			if err := errors.Join(step(owner, time.Hour, records, owner), step(owner, 0, records, owner), x.refused(ctx, other)); err != nil {
				return err
			}
			if err := errors.Join(step(other, -1, records, owner), step(owner, -1, records, "")); err != nil {
				return err
			}
		}
	}
	if err := step(owner, 2*time.Hour, 1, owner); err != nil {
		return err
	}
	h, err := s.Head(ctx, run)
	if err != nil {
		return err
	}
	if d := h.Lease.Until.Sub(h.Updated); d < 119*time.Minute || d > 121*time.Minute {
		return fmt.Errorf("a lease for two hours ends %s after the append that gave it", d)
	}
	if err := errors.Join(step(owner, moment, 1, owner), step(owner, -1, 0, "")); err != nil {
		return err
	}
	x.want.Epoch, x.want.Lease.Writer = 2, other
	_, err = x.take(ctx, other, time.Hour)
	return err
}

// epochEndsLease has others append while somebody has the lease: in its epoch, in vain, and in a
// higher one.
func epochEndsLease(ctx context.Context, s checkpoint.Store) error {
	x, err := newLeased(ctx, s)
	if err != nil {
		return err
	}
	step := func(records int, d time.Duration, epoch int64, holder string) error {
		b := by(batch(run, numbered(x.want.Last+1, records)...), other, epoch)
		b.Lease = d
		x.want.Last, x.want.Epoch, x.want.Lease.Writer = x.want.Last+records, epoch, holder
		if err := put(ctx, s, b); err != nil {
			return err
		}
		return expectHead(ctx, s, x.want)
	}
	for _, c := range []struct {
		records int
		lease   time.Duration
		holder  string
	}{{1, 0, ""}, {0, 0, ""}, {1, -1, ""}, {0, -1, ""}, {1, time.Hour, other}, {0, time.Hour, other}} {
		if _, err := takeOver(ctx, x.l, run, other, 0); err != nil {
			return err
		}
		x.want.Epoch, x.want.Lease.Writer = x.want.Epoch+1, owner // it was ended, not run out: no recovery
		if _, err := x.take(ctx, owner, time.Hour); err != nil {
			return err
		}
		epoch := x.want.Epoch
		if err := step(c.records, 0, epoch, owner); err != nil {
			return fmt.Errorf("an append of %d records in the epoch of somebody's lease: %w", c.records, err)
		}
		if err := refusedAs(ctx, s, by(batch(run, numbered(x.want.Last+2, 1)...), other, epoch+1), checkpoint.ErrConflict); err != nil {
			return err
		}
		if err := step(c.records, c.lease, epoch+1, c.holder); err != nil {
			return fmt.Errorf("an append of %d records in a higher epoch than that of somebody's lease: %w", c.records, err)
		}
	}
	return nil
}

// progress counts recoveries, and forgets them.
func progress(ctx context.Context, s checkpoint.Store) error {
	x, err := newLeased(ctx, s)
	if err != nil {
		return err
	}
	writers := []string{owner, other}
	for round, records := range []int{1, 0} {
		for i := range 3 {
			writer := writers[i%2]
			x.want.Epoch, x.want.Recoveries, x.want.Lease.Writer = int64(2+i+3*round), i, writer
			if _, err := x.take(ctx, writer, moment); err != nil {
				return err
			}
			b := by(batch(run, numbered(x.want.Last+1, records)...), writer, x.want.Epoch)
			x.want.Last += records
			if err := put(ctx, s, b); err != nil {
				return err
			}
			if err := expectHead(ctx, s, x.want); err != nil {
				return fmt.Errorf("after an append without progress: %w", err)
			}
		}
		b := by(batch(run, numbered(x.want.Last, 1)...), "a third", x.want.Epoch)
		b.Progress = true
		if err := refusedAs(ctx, s, b, checkpoint.ErrConflict); err != nil {
			return fmt.Errorf("with progress: %w", err)
		}
		b = by(batch(run, numbered(x.want.Last+1, records)...), owner, x.want.Epoch)
		b.Progress, b.Lease = true, -1
		x.want.Last, x.want.Recoveries, x.want.Lease.Writer = x.want.Last+records, 0, ""
		if err := put(ctx, s, b); err != nil {
			return err
		}
		if err := expectHead(ctx, s, x.want); err != nil {
			return fmt.Errorf("after an append with progress: %w", err)
		}
	}
	return nil
}

// leaseOfNone leases runs that there are not.
func leaseOfNone(ctx context.Context, s checkpoint.Store) error {
	l, err := able[checkpoint.Leaser](s)
	if err != nil {
		return err
	}
	if err := fill(ctx, s, named("another"), numbered(1, 1)); err != nil {
		return err
	}
	for _, d := range []time.Duration{time.Hour, 0, -1} {
		_, err := l.Lease(ctx, run, owner, d)
		if err := wraps(err, checkpoint.ErrNotFound, "lease of a run that there is not, for %s", d); err != nil {
			return err
		}
	}
	if err := expectNone(ctx, s, run, 1); err != nil {
		return err
	}
	_, err = s.Head(ctx, run)
	return wraps(err, checkpoint.ErrNotFound, "head of a run that there is not, after a lease")
}
