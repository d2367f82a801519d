package sealed

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/checkpoint"
)

var (
	// ErrPlain is wrapped where something is not sealed that should be.
	ErrPlain = errors.New("it is not sealed, and this store takes nothing else: it was put in by somebody without a key, or is older than the sealing (see Keys.ReadPlain)")

	// ErrForged is wrapped where something is not what was sealed for this place: it was changed or
	// moved, or another secret has the same id.
	ErrForged = errors.New("it is not what was sealed for this place: it was changed or moved, or the key has another secret")

	// ErrNoKey is wrapped where something was sealed with a key that the store was not given.
	ErrNoKey = errors.New("its key is not among those of this store")

	// ErrFormat is wrapped where something was sealed by a later version of this package.
	ErrFormat = errors.New("it was sealed in a format of a later version of this library: go on with the version that wrote it")
)

// Error says what could not be opened, and why. It wraps [ErrPlain], [ErrForged], [ErrNoKey] or
// [ErrFormat]; with the first two [checkpoint.ErrCorrupt], too.
type Error struct {
	Key      checkpoint.Key
	Record   int    // its place in the journal; 0: it is no record
	Message  string // the id of the message; "": it is none
	Snapshot int    // how many records the snapshot stands for; 0: it is none
	Value    string // the id of the value; "": it is none
	KeyID    string // of the key that it was sealed with, as far as it says so
	Err      error
}

// Error names the run, and the record, the message, the snapshot or the value.
func (e *Error) Error() string {
	what := fmt.Sprintf("message %.64q", e.Message)
	switch {
	case e.Snapshot > 0:
		what = fmt.Sprintf("snapshot of %d records", e.Snapshot)
	case e.Value != "":
		what = fmt.Sprintf("value %.64q", e.Value)
	case e.Record > 0:
		what = fmt.Sprintf("record %d", e.Record)
	}
	if e.KeyID != "" {
		what += fmt.Sprintf(", sealed with key %.64q", e.KeyID)
	}
	return fmt.Sprintf("sealed: run %.64q, %s: %v", e.Key.String(), what, e.Err)
}

// Unwrap returns Err, and checkpoint.ErrCorrupt if Err is [ErrPlain] or [ErrForged].
func (e *Error) Unwrap() []error {
	if errors.Is(e.Err, ErrPlain) || errors.Is(e.Err, ErrForged) {
		return []error{e.Err, checkpoint.ErrCorrupt}
	}
	return []error{e.Err}
}
