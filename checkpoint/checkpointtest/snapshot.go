package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// newKept begins runs of three records in a store that keeps snapshots.
func newKept(ctx context.Context, s checkpoint.Store, keys ...checkpoint.Key) (checkpoint.SnapshotStore, error) {
	k, err := able[checkpoint.SnapshotStore](s)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := fill(ctx, s, key, numbered(1, 3)); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// snapshotOf returns the snapshot of a run that its number of records and its name tell.
func snapshotOf(key checkpoint.Key, records int) checkpoint.Snapshot {
	return checkpoint.Snapshot{Records: records, Data: []byte(fmt.Sprintf(`{"of":%q,"records":%d}`, key, records))}
}

func expectSnapshot(ctx context.Context, k checkpoint.SnapshotStore, key checkpoint.Key, want checkpoint.Snapshot) error {
	got, err := k.Snapshot(ctx, key)
	if err != nil {
		return fmt.Errorf("run %.64q: snapshot: %w", key, err)
	}
	if got.Records != want.Records || !bytes.Equal(got.Data, want.Data) {
		return fmt.Errorf("run %.64q: the snapshot is of %d records, %.80q; want %d, %.80q", key, got.Records, got.Data, want.Records, want.Data)
	}
	return nil
}

func expectNoSnapshot(ctx context.Context, k checkpoint.SnapshotStore, key checkpoint.Key) error {
	got, err := k.Snapshot(ctx, key)
	return wraps(err, checkpoint.ErrNotFound, "run %.64q: snapshot of %d records, and", key, got.Records)
}

// snapshotNewest saves snapshots in any order: that of the most records stays, each run has its
// own, and nothing else of a run changes.
func snapshotNewest(ctx context.Context, s checkpoint.Store) error {
	keys := []checkpoint.Key{run, named("another"), {Namespace: "a", Run: run.Run}}
	k, err := newKept(ctx, s, keys...)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := expectNoSnapshot(ctx, k, key); err != nil {
			return err
		}
	}
	for i, step := range []struct{ records, stays int }{{1, 1}, {2, 2}, {1, 2}, {3, 3}, {2, 3}, {1, 3}} {
		for _, key := range keys[:2] {
			if err := unchanged(ctx, s, key, func() error { return k.SaveSnapshot(ctx, key, snapshotOf(key, step.records)) }); err != nil {
				return fmt.Errorf("run %.64q: snapshot %d, of %d records: %w", key, i, step.records, err)
			}
			if err := expectSnapshot(ctx, k, key, snapshotOf(key, step.stays)); err != nil {
				return fmt.Errorf("after a snapshot of %d records: %w", step.records, err)
			}
		}
	}
	if err := expectNoSnapshot(ctx, k, keys[2]); err != nil {
		return err
	}
	if err := put(ctx, s, batch(run, numbered(4, 1)...)); err != nil {
		return err
	}
	if err := expectSnapshot(ctx, k, run, snapshotOf(run, 3)); err != nil {
		return fmt.Errorf("after an append: %w", err)
	}
	if err := k.SaveSnapshot(ctx, run, snapshotOf(run, 4)); err != nil {
		return err
	}
	return expectSnapshot(ctx, k, run, snapshotOf(run, 4))
}

// snapshotKept saves any bytes as a snapshot of as many records as the one before, and writes over
// what it handed over and got.
func snapshotKept(ctx context.Context, s checkpoint.Store) error {
	k, err := newKept(ctx, s, run)
	if err != nil {
		return err
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, data := range [][]byte{all, {}, nil, bytes.Repeat([]byte("x"), 1<<20), []byte("small")} {
		given := checkpoint.Snapshot{Records: 2, Data: bytes.Clone(data)}
		if err := k.SaveSnapshot(ctx, run, given); err != nil {
			return err
		}
		clear(given.Data)
		for range 2 {
			if err := expectSnapshot(ctx, k, run, checkpoint.Snapshot{Records: 2, Data: data}); err != nil {
				return fmt.Errorf("of two snapshots of as many records the later one stays: %w", err)
			}
			got, err := k.Snapshot(ctx, run)
			if err != nil {
				return err
			}
			clear(got.Data)
		}
	}
	return nil
}

// snapshotOfNone saves snapshots of runs that there are not, and that there cannot be.
func snapshotOfNone(ctx context.Context, s checkpoint.Store) error {
	k, err := newKept(ctx, s, named("another"))
	if err != nil {
		return err
	}
	if err := wraps(k.SaveSnapshot(ctx, run, snapshotOf(run, 1)), checkpoint.ErrNotFound, "snapshot of a run that there is not"); err != nil {
		return err
	}
	if err := wraps(k.SaveSnapshot(ctx, named(""), snapshotOf(run, 1)), checkpoint.ErrID, "snapshot of a run without an id"); err != nil {
		return err
	}
	if err := errors.Join(expectNoSnapshot(ctx, k, run), expectNoSnapshot(ctx, k, named("")), expectNone(ctx, s, run, 1)); err != nil {
		return err
	}
	if err := fill(ctx, s, run, numbered(1, 1)); err != nil {
		return err
	}
	if err := expectNoSnapshot(ctx, k, run); err != nil {
		return fmt.Errorf("after a snapshot of it before it began: %w", err)
	}
	return nil
}

// snapshotRefused saves snapshots that cannot be of the run.
func snapshotRefused(ctx context.Context, s checkpoint.Store) error {
	k, err := newKept(ctx, s, run)
	if err != nil {
		return err
	}
	for _, kept := range []int{0, 2} {
		for _, records := range []int{-1, 0, 4, 1 << 40} {
			err := k.SaveSnapshot(ctx, run, snapshotOf(run, records))
			if err := wraps(err, checkpoint.ErrConflict, "snapshot of %d records of a run that has 3", records); err != nil {
				return err
			}
			if kept == 0 {
				err = expectNoSnapshot(ctx, k, run)
			} else {
				err = expectSnapshot(ctx, k, run, snapshotOf(run, kept))
			}
			if err != nil {
				return fmt.Errorf("after a snapshot of %d records was refused: %w", records, err)
			}
		}
		if err := k.SaveSnapshot(ctx, run, snapshotOf(run, 2)); err != nil {
			return err
		}
	}
	return nil
}

// snapshotsAtOnce has several save snapshots at once, and reads them meanwhile: what is read is
// whole, and is never of fewer records than before.
func snapshotsAtOnce(ctx context.Context, s checkpoint.Store) error {
	const records, writers = 40, 4
	k, err := able[checkpoint.SnapshotStore](s)
	if err != nil {
		return err
	}
	if err := fill(ctx, s, run, numbered(1, records)); err != nil {
		return err
	}
	if err := k.SaveSnapshot(ctx, run, snapshotOf(run, 1)); err != nil {
		return err
	}
	written, seen := make([]error, writers), error(nil)
	var all, looks sync.WaitGroup
	over := make(chan struct{})
	for w := range writers {
		all.Go(func() {
			for n := 1 + w; n <= records && written[w] == nil; n += writers {
				written[w] = k.SaveSnapshot(ctx, run, snapshotOf(run, n))
			}
		})
	}
	looks.Go(func() { seen = snapshotsRise(ctx, k, over) })
	all.Wait()
	close(over)
	looks.Wait()
	return errors.Join(errors.Join(written...), seen, expectSnapshot(ctx, k, run, snapshotOf(run, records)))
}

// snapshotsRise reads the snapshot until all are saved.
func snapshotsRise(ctx context.Context, k checkpoint.SnapshotStore, over <-chan struct{}) error {
	for before := 1; ; {
		got, err := k.Snapshot(ctx, run)
		if err != nil {
			return err
		}
		if got.Records < before {
			return fmt.Errorf("the snapshot is of %d records, and was of %d", got.Records, before)
		}
		before = got.Records
		if want := snapshotOf(run, before); !bytes.Equal(got.Data, want.Data) {
			return fmt.Errorf("the snapshot of %d records is %.80q, want %.80q", before, got.Data, want.Data)
		}
		select {
		case <-over:
			return nil
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
}
