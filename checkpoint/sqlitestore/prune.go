package sqlitestore

import (
	"context"
	"time"

	"github.com/segue-go/segue/checkpoint"
)

// Delete implements [checkpoint.Pruner]. Each run has a transaction of its own: after an error, the
// runs before the one that failed are deleted.
func (s *Store) Delete(ctx context.Context, keys ...checkpoint.Key) error {
	if err := s.enter(ctx, checkpoint.Key{}); err != nil {
		return err
	}
	defer s.open.RUnlock()
	for _, key := range keys {
		if err := s.write(ctx, &job{key: key, do: func(w *writer) error { return s.forget(w, key) }}); err != nil {
			return err
		}
	}
	return nil
}

// deletions delete what is stored under the id of a run, except its marks: the header of the run
// says quickly where they are.
var deletions = []string{
	`DELETE FROM records WHERE place BETWEEN ?1 << 32 AND ?1 << 32 | 4294967295`,
	`DELETE FROM inbox WHERE run = ?1`,
	`DELETE FROM snapshots WHERE run = ?1`,
	`DELETE FROM run_values WHERE run = ?1`,
	`DELETE FROM value_parts WHERE run = ?1`,
	`DELETE FROM runs WHERE id = ?1`,
}

const removeEveryMark = `DELETE FROM marks WHERE run = ?`

// forget deletes a run within a transaction.
func (s *Store) forget(w *writer, key checkpoint.Key) error {
	var h held
	found, err := w.row(heldRun, []any{key.Namespace, key.Run}, h.into()...)
	if err != nil || !found {
		return err
	}
	if header, damaged := s.header(key, h.header, h.sum); damaged == nil {
		err = removeMarks(w, key, &h, marksOf(&header))
	} else { // all marks of all runs are searched
		err = w.exec(removeEveryMark, h.id)
	}
	for _, text := range deletions {
		if err == nil {
			err = w.exec(text, h.id)
		}
	}
	return err
}

// Vacuum implements [checkpoint.Pruner]. It rewrites the file without free pages, and empties the
// log. Meanwhile nobody else can write, and the file needs as much room on the disk once more. If
// somebody reads for longer than Config.BusyTimeout, Vacuum fails with an error that wraps
// [checkpoint.ErrBusy]; deleted data may then still be in the log, and Vacuum must be called again.
func (s *Store) Vacuum(ctx context.Context) error {
	if err := s.enter(ctx, checkpoint.Key{}); err != nil {
		return err
	}
	defer s.open.RUnlock()
	return s.write(ctx, &job{alone: true, do: func(w *writer) error {
		if err := s.mind(); err != nil {
			return err
		}
		if err := s.insist(ctx, s.patience, func() (bool, error) {
			_, err := w.conn.ExecContext(ctx, "VACUUM")
			return busy(err), err
		}); err != nil {
			return err
		}
		return s.insist(ctx, s.patience, func() (bool, error) {
			kept, _, err := checkpointLog(ctx, w.conn, "PRAGMA wal_checkpoint(TRUNCATE)")
			return kept || busy(err), err
		})
	}})
}

// insist calls do again and again while others prevent what it does.
func (s *Store) insist(ctx context.Context, patience time.Duration, do func() (kept bool, err error)) error {
	for until := time.Now().Add(patience); ; {
		kept, err := do()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !kept:
			return err
		case time.Now().After(until):
			return failure(&checkpoint.Error{Place: s.path, Kind: checkpoint.ErrBusy, Err: err})
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
