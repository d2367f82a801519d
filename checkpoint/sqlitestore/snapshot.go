package sqlitestore

import (
	"context"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

const (
	lastOfRun   = `SELECT id, last, ` + stands + ` FROM runs r WHERE namespace = ? AND run = ?`
	addSnapshot = `INSERT INTO snapshots (run, records, data, sum) VALUES (?, ?, ?, ?)
		ON CONFLICT (run) DO UPDATE SET records = excluded.records, data = excluded.data, sum = excluded.sum
		WHERE snapshots.records <= excluded.records`
	readSnapshot = `SELECT s.records, s.data, s.sum FROM runs r CROSS JOIN snapshots s ON s.run = r.id
		WHERE r.namespace = ? AND r.run = ?`
)

// SaveSnapshot implements [checkpoint.SnapshotStore].
func (s *Store) SaveSnapshot(ctx context.Context, key checkpoint.Key, snapshot checkpoint.Snapshot) error {
	if err := s.enter(ctx, key); err != nil {
		return err
	}
	defer s.open.RUnlock()
	if err := key.Check(); err != nil {
		return err
	}
	want := int64(tables.SumOfSnapshot(key, &snapshot))
	return s.write(ctx, &job{key: key, bytes: len(snapshot.Data), do: func(w *writer) error {
		var id int64
		var last int
		var fits bool
		found, err := w.row(lastOfRun, []any{key.Namespace, key.Run}, &id, &last, &fits)
		switch {
		case err != nil:
			return err
		case !found:
			return refused{&checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}}
		case !fits:
			return s.damaged(key)
		case snapshot.Records < 1 || snapshot.Records > last:
			return refused{&checkpoint.Error{Kind: checkpoint.ErrConflict, Key: key, Problem: fmt.Sprintf("a snapshot of %d records, and the run has %d", snapshot.Records, last)}}
		}
		return w.exec(addSnapshot, id, snapshot.Records, tables.BytesOf(snapshot.Data), want)
	}})
}

// Snapshot implements [checkpoint.SnapshotStore].
func (s *Store) Snapshot(ctx context.Context, key checkpoint.Key) (snapshot checkpoint.Snapshot, err error) {
	if err := s.enter(ctx, key); err != nil {
		return snapshot, err
	}
	defer s.open.RUnlock()
	var want int64
	err = s.reads.QueryRowContext(ctx, readSnapshot, key.Namespace, key.Run).Scan(&snapshot.Records, &snapshot.Data, &want)
	if err != nil {
		return checkpoint.Snapshot{}, s.missing(ctx, key, err)
	}
	if int64(tables.SumOfSnapshot(key, &snapshot)) != want {
		return checkpoint.Snapshot{}, s.corrupt(key, "the checksum of the run's snapshot does not match")
	}
	return snapshot, nil
}
