package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/checkpoint/internal/tables"
)

const (
	saveSnapshot = `SELECT snapshot_4($1, $2, $3, $4, $5)`
	readSnapshot = `SELECT s.records, s.data, s.crc FROM runs r JOIN snapshots s ON s.run = r.id
		WHERE r.namespace = $1 AND r.run = $2`
)

// SaveSnapshot implements [checkpoint.SnapshotStore]. The data of a snapshot may have 512 MiB.
func (s *Store) SaveSnapshot(ctx context.Context, key checkpoint.Key, snapshot checkpoint.Snapshot) error {
	if err := ctx.Err(); err != nil {
		return fault(ctx, s.place, key, err)
	}
	if err := key.Check(); err != nil {
		return err
	}
	if len(snapshot.Data) > mostBytes {
		return failure(&checkpoint.Error{Place: s.place, Key: key, Kind: checkpoint.ErrTooLarge})
	}
	n, crc := snapshot.Records, int32(tables.SumOfSnapshot(key, &snapshot))
	return s.do(ctx, key, func(conn *pgx.Conn) error {
		var last *int
		if err := conn.QueryRow(ctx, saveSnapshot, key.Namespace, key.Run, n, crc, tables.BytesOf(snapshot.Data)).Scan(&last); err != nil {
			return err
		}
		switch {
		case last == nil:
			return &checkpoint.Error{Kind: checkpoint.ErrNotFound, Key: key}
		case *last < 0:
			return s.damaged(key)
		case n < 1 || n > *last:
			return &checkpoint.Error{Kind: checkpoint.ErrConflict, Key: key, Problem: fmt.Sprintf("a snapshot of %d records, and the run has %d", n, *last)}
		default:
			return nil
		}
	})
}

// Snapshot implements [checkpoint.SnapshotStore].
func (s *Store) Snapshot(ctx context.Context, key checkpoint.Key) (snapshot checkpoint.Snapshot, err error) {
	err = s.found(ctx, key, func(conn *pgx.Conn) error {
		var read checkpoint.Snapshot
		var want int32
		if err := conn.QueryRow(ctx, readSnapshot, key.Namespace, key.Run).Scan(&read.Records, &read.Data, &want); err != nil {
			return err
		}
		if int32(tables.SumOfSnapshot(key, &read)) != want {
			return s.corrupt(key, "the checksum of the run's snapshot does not match")
		}
		snapshot = read
		return nil
	})
	return snapshot, err
}
