package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/segue-go/segue/checkpoint"
)

// What an [*Error] wraps.
var (
	// ErrFull: there is no room on the disk.
	ErrFull = errors.New("the disk is full")
	// ErrReadOnly: the file cannot be written.
	ErrReadOnly = errors.New("the file cannot be written")
	// ErrBusy: other processes wrote for longer than Config.BusyTimeout.
	ErrBusy = errors.New("other processes kept the file locked")
	// ErrCorrupt: what is in the file is not what was written to it. An Error with it wraps
	// checkpoint.ErrCorrupt, too.
	ErrCorrupt = errors.New("the file is damaged")
	// ErrForeign: the file is something else than a store of runs.
	ErrForeign = errors.New("the file is no store of runs")
	// ErrNewer: a newer program has changed the file. See SchemaError.
	ErrNewer = errors.New("a newer program has changed the file")
	// ErrMoved: the file was deleted, moved or replaced while it was open.
	ErrMoved = errors.New("the file was deleted, moved or replaced while it was open")
	// ErrTooLarge: a record, message or snapshot has more bytes than SQLite takes.
	ErrTooLarge = errors.New("a record, message or snapshot is larger than SQLite can take")
	// ErrClosed: the Store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrDisk: the disk, or SQLite, failed in another way. The error of SQLite is wrapped, too.
	ErrDisk = errors.New("the disk failed")
)

// advice says what to do.
var advice = map[error]string{
	ErrFull:     "make room; nothing that was acknowledged is lost, and what failed may be tried again",
	ErrReadOnly: "let this user write the file, those beside it and their folder",
	ErrBusy:     "try again, allow more time by Config.BusyTimeout, or end what holds it",
	ErrCorrupt:  "copy it and those beside it, then restore a backup, or save what is left by .recover of the program sqlite3",
	ErrForeign:  "name another file, it was not changed",
	ErrMoved:    "put it back with those beside it, and open the store again",
	ErrTooLarge: "keep large values elsewhere, and store their names",
	ErrDisk:     "look at the disk and the folder, then try again",
}

// Error is what went wrong with the file. It wraps Kind and Err.
type Error struct {
	Path    string         // of the file
	Key     checkpoint.Key // the run; zero: it was not about one run
	Record  int            // the place of the record; 0: it was not about one
	Kind    error          // one of the Err variables
	Problem string         // more about it, perhaps
	Err     error          // what SQLite or the system says; may be nil
}

// Error names the file, the run and the record, and says what to do.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sqlitestore: %s: ", e.Path)
	if e.Key != (checkpoint.Key{}) {
		fmt.Fprintf(&b, "run %.64q: ", e.Key.String())
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, "record %d: ", e.Record)
	}
	b.WriteString(e.Kind.Error())
	if e.Problem != "" {
		b.WriteString(": " + e.Problem)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if do := advice[e.Kind]; do != "" {
		b.WriteString(" (" + do + ")")
	}
	return b.String()
}

// Unwrap returns Kind and Err, and checkpoint.ErrCorrupt if Kind is [ErrCorrupt].
func (e *Error) Unwrap() []error {
	all := []error{e.Kind}
	if e.Kind == ErrCorrupt { //nolint:errorlint // it is one of the variables
		all = append(all, checkpoint.ErrCorrupt)
	}
	if e.Err != nil {
		all = append(all, e.Err)
	}
	return all
}

// SchemaError says that a newer program has changed the file to a form that this one does not know.
// It wraps [ErrNewer].
type SchemaError struct {
	Path    string
	Version int // of the file
	Known   int // the newest that this program knows
}

// Error names the file and both versions.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("sqlitestore: %s: %v: its schema is version %d, and this program knows versions up to %d (run the newer program, or name another file)", e.Path, ErrNewer, e.Version, e.Known)
}

// Unwrap returns [ErrNewer].
func (e *SchemaError) Unwrap() error { return ErrNewer }

// refused is an answer of the contract, such as a conflict: whoever it is given to has written
// nothing, and the transaction goes on.
type refused struct{ error }

// fault says in the words of this package what failed.
func (s *Store) fault(key checkpoint.Key, err error) error {
	return fault(s.path, key, err)
}

func fault(path string, key checkpoint.Key, err error) error {
	var own *Error
	var schema *SchemaError
	var said *sqlite.Error
	switch {
	case errors.As(err, &own), errors.As(err, &schema):
		return err
	case errors.As(err, &said):
		if kind := kindOf(said.Code()); kind != nil {
			return &Error{Path: path, Key: key, Kind: kind, Err: said}
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if key == (checkpoint.Key{}) {
			return fmt.Errorf("sqlitestore: %s: %w", path, err)
		}
		return fmt.Errorf("sqlitestore: run %.64q: %w", key.String(), err)
	}
	return &Error{Path: path, Key: key, Kind: ErrDisk, Err: err}
}

// noRoomForIndex is SQLITE_IOERR_SHMSIZE: the file with the index of the log cannot be extended. Of
// that SQLite says as little as of a broken disk.
const noRoomForIndex = sqlite3.SQLITE_IOERR | 19<<8

func kindOf(code int) error {
	if code == noRoomForIndex {
		return ErrFull
	}
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return ErrBusy
	case sqlite3.SQLITE_FULL:
		return ErrFull
	case sqlite3.SQLITE_READONLY:
		return ErrReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT:
		return ErrCorrupt
	case sqlite3.SQLITE_TOOBIG:
		return ErrTooLarge
	default:
		return nil
	}
}

// busy reports whether somebody else has a lock that was wanted.
func busy(err error) bool {
	var said *sqlite.Error
	return errors.As(err, &said) && errors.Is(kindOf(said.Code()), ErrBusy)
}
