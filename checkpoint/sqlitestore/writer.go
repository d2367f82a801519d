package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"os"

	"github.com/segue-go/segue/checkpoint"
)

// writer is the connection that writes. Only the call that leads the queue uses it.
type writer struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt // by their text, which is a constant
}

// background is the context within a transaction: the call that leads does the jobs of others, so
// its own context must not interrupt them.
var background = context.Background()

// prepared returns a prepared statement, which it keeps.
func (w *writer) prepared(text string) (*sql.Stmt, error) {
	if ready := w.statements[text]; ready != nil {
		return ready, nil
	}
	ready, err := w.conn.PrepareContext(background, text)
	if err != nil {
		return nil, err
	}
	if w.statements == nil {
		w.statements = map[string]*sql.Stmt{}
	}
	w.statements[text] = ready
	return ready, nil
}

func (w *writer) exec(text string, args ...any) error {
	_, err := w.change(text, args...)
	return err
}

// change returns how many rows were changed.
func (w *writer) change(text string, args ...any) (int64, error) {
	ready, err := w.prepared(text) //nolint:sqlclosecheck // it is closed with the writer
	if err != nil {
		return 0, err
	}
	result, err := ready.ExecContext(background, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads one row; found is false if there is none.
func (w *writer) row(text string, args []any, into ...any) (found bool, err error) {
	ready, err := w.prepared(text) //nolint:sqlclosecheck // it is closed with the writer
	if err != nil {
		return false, err
	}
	err = ready.QueryRowContext(background, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (w *writer) close() error {
	var errs []error
	for _, s := range w.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// mind checks, within a transaction, that the file is still the one that was opened, and that no
// newer program has changed it.
func (s *Store) mind() error {
	var version int
	if _, err := s.writer.row("PRAGMA user_version", nil, &version); err != nil {
		return err
	}
	if version > s.version {
		return newer(s.path, version, s.version)
	}
	if there, err := os.Stat(s.path); err != nil || !os.SameFile(there, s.file) {
		return failure(&checkpoint.Error{Place: s.path, Kind: ErrMoved, Err: err})
	}
	return nil
}
