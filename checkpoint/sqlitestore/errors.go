package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/segue-go/segue/checkpoint"
)

// The kinds of failure that only this store has. A [checkpoint.Error] of this package wraps
// one of them, or a kind of package checkpoint, such as [checkpoint.ErrFull].
var (
	// ErrMoved means that the file was deleted, moved or replaced while the Store had it open.
	ErrMoved = errors.New("the file was deleted, moved or replaced while it was open")
	// ErrDisk means that the disk, or SQLite, failed in another way. The error of SQLite or of the
	// system is wrapped, too.
	ErrDisk = errors.New("the disk failed")
)

// packageName is the Store of the errors of this package.
const packageName = "sqlitestore"

// advice says what to do about a kind of failure, where package checkpoint does not say it, or this
// package can say more.
var advice = map[error]string{
	ErrMoved:               "put the file back, with the -wal and -shm files beside it, and open the store again",
	ErrDisk:                "check the disk and the folder, then try again",
	checkpoint.ErrReadOnly: "let this user write the file, the -wal and -shm files beside it, and their folder",
	checkpoint.ErrBusy:     "try again, increase Config.BusyTimeout, or end the program that locks the file",
	checkpoint.ErrCorrupt:  "copy the file, with the -wal and -shm files beside it; then restore a backup, or save what is left by .recover of the program sqlite3",
	checkpoint.ErrForeign:  "name another file; this one was not changed",
}

// failure completes an error of this store. Its Place is the path of the file.
func failure(e *checkpoint.Error) error {
	e.Store, e.Advice = packageName, advice[e.Kind]
	return e
}

// corrupt returns the error of a run of which something is damaged.
func (s *Store) corrupt(key checkpoint.Key, problem string) error {
	return failure(&checkpoint.Error{Place: s.path, Key: key, Kind: checkpoint.ErrCorrupt, Problem: problem})
}

// newer returns the error of a store that a newer program has changed.
func newer(place string, version, known int) error {
	return failure(&checkpoint.Error{
		Place: place, Kind: checkpoint.ErrNewer,
		Problem: fmt.Sprintf("its schema has version %d, and this program knows versions up to %d", version, known),
	})
}

// refused is an error of the contract, such as a conflict. The job that it answers has written
// nothing, and the transaction goes on with the other jobs.
type refused struct{ error }

// fault converts an error of a call to an error that names the file and the run. An error that was
// converted before stays as it is.
func (s *Store) fault(key checkpoint.Key, err error) error {
	return fault(s.path, key, err)
}

func fault(path string, key checkpoint.Key, err error) error {
	var own *checkpoint.Error
	var said *sqlite.Error
	switch {
	case errors.As(err, &own):
		return err
	case errors.As(err, &said):
		if kind := kindOf(said.Code()); kind != nil {
			return failure(&checkpoint.Error{Place: path, Key: key, Kind: kind, Err: said})
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if key == (checkpoint.Key{}) {
			return fmt.Errorf("sqlitestore: %s: %w", path, err)
		}
		return fmt.Errorf("sqlitestore: run %.64q: %w", key.String(), err)
	}
	return failure(&checkpoint.Error{Place: path, Key: key, Kind: ErrDisk, Err: err})
}

// noRoomForIndex is SQLITE_IOERR_SHMSIZE: the file with the index of the log cannot be extended. Of
// that SQLite says as little as of a broken disk.
const noRoomForIndex = sqlite3.SQLITE_IOERR | 19<<8

// kindOf returns the kind of failure that a code of SQLite is; nil: none in particular.
func kindOf(code int) error {
	if code == noRoomForIndex {
		return checkpoint.ErrFull
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return checkpoint.ErrBusy
	case sqlite3.SQLITE_FULL:
		return checkpoint.ErrFull
	case sqlite3.SQLITE_READONLY:
		return checkpoint.ErrReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT:
		return checkpoint.ErrCorrupt
	case sqlite3.SQLITE_TOOBIG:
		return checkpoint.ErrTooLarge
	default:
		return nil
	}
}

// busy reports whether an error says that another connection holds a lock that the call needs.
func busy(err error) bool {
	var said *sqlite.Error
	return errors.As(err, &said) && errors.Is(kindOf(said.Code()), checkpoint.ErrBusy)
}
