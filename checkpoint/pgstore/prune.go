package pgstore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/segue-go/segue/checkpoint"
)

// mostDeleted is how many runs one transaction deletes.
const mostDeleted = 100

// Delete implements [checkpoint.Pruner]. One transaction deletes up to a hundred runs: after an
// error, the runs of earlier transactions are deleted.
func (s *Store) Delete(ctx context.Context, keys ...checkpoint.Key) error {
	if err := ctx.Err(); err != nil {
		return fault(ctx, s.place, checkpoint.Key{}, err)
	}
	for some := range slices.Chunk(keys, mostDeleted) {
		namespaces, runs := columnsOf(some)
		if err := s.do(ctx, checkpoint.Key{}, func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `SELECT delete_4($1, $2)`, namespaces, runs)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Vacuum implements [checkpoint.Pruner]. It rewrites the tables and their indexes, one table after
// the other. Meanwhile the table is locked for all others, and needs as much room on the disk once
// more. The user must own the tables. Data of deleted runs stay as long as a running transaction,
// here or on a standby, can see them. Vacuum is not needed for room alone: the server reuses it.
func (s *Store) Vacuum(ctx context.Context) error {
	return s.do(ctx, checkpoint.Key{}, func(conn *pgx.Conn) error {
		const owned = `SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'records'::regclass`
		var ours bool
		if err := conn.QueryRow(ctx, owned).Scan(&ours); err != nil {
			return err
		}
		if !ours { // the server itself would only warn
			return failure(&checkpoint.Error{Place: s.place, Kind: ErrDenied, Problem: "the user does not own the tables"})
		}
		for _, table := range []string{"records", "inbox", "snapshots", "value_parts", "run_values", "runs"} {
			if _, err := conn.Exec(ctx, "VACUUM (FULL, ANALYZE) "+table, pgx.QueryExecModeExec); err != nil {
				return err
			}
		}
		return nil
	})
}
