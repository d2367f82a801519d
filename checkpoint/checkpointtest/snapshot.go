package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

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

// snapshotKept saves any bytes as a snapshot of as many records as the one before, and writes over
// what it handed over and got.
func snapshotKept(ctx context.Context, s checkpoint.Store) error {
	k, err := newKept(ctx, s, run)
	if err != nil {
		return err
	}
	if err := wraps(k.SaveSnapshot(ctx, named(""), snapshotOf(run, 1)), checkpoint.ErrID, "snapshot of a run without an id"); err != nil {
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
	before := 1
	err = meanwhile(func() error {
		got, err := k.Snapshot(ctx, run)
		if err == nil && got.Records < before {
			err = fmt.Errorf("the snapshot is of %d records, and was of %d", got.Records, before)
		}
		before = got.Records
		if want := snapshotOf(run, before); err == nil && !bytes.Equal(got.Data, want.Data) {
			err = fmt.Errorf("the snapshot of %d records is %.80q, want %.80q", before, got.Data, want.Data)
		}
		return err
	}, writers, func(w int) error {
		for n := 1 + w; n <= records; n += writers {
			if err := k.SaveSnapshot(ctx, run, snapshotOf(run, n)); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, expectSnapshot(ctx, k, run, snapshotOf(run, records)))
}
