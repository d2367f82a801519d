package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	// ErrConflict is wrapped by the error of an Append whose records are not the next ones: another
	// writer writes this journal. See [ConflictError].
	ErrConflict = errors.New("checkpoint: the records are not the next ones of the run")

	// ErrFenced is wrapped by the error of an Append if another writer has opened the run since. It
	// wraps ErrConflict. See [FencedError].
	ErrFenced = fmt.Errorf("%w: another process has taken it over", ErrConflict)

	// ErrLeased is wrapped by the error of a Lease of a run that another writer has. See
	// [LeasedError].
	ErrLeased = errors.New("checkpoint: another process works on the run")

	// ErrNotFound is wrapped by the error of a Read of a run that has no records. See
	// [NotFoundError].
	ErrNotFound = errors.New("checkpoint: there is no such run")

	// ErrNoRun is wrapped by the error of an Append to a run whose id is "".
	ErrNoRun = errors.New("checkpoint: the run has no id")

	// ErrRunID is wrapped by the error of an Append to a run whose id or namespace is not a UTF-8
	// text of at most 512 bytes without NUL. See [RunIDError].
	ErrRunID = errors.New("checkpoint: the run has an id that no store need take")
)

// MaxRunID is how many bytes the id of a run may have, and a namespace.
const MaxRunID = 512

// Check returns an error if the key is invalid: [ErrNoRun] if the id is empty, otherwise a
// [*RunIDError].
func (k Key) Check() error {
	if problem := problemOf(k.Namespace); problem != "" {
		return &RunIDError{Run: k.Run, Problem: fmt.Sprintf("its namespace %.64q: %s", k.Namespace, problem)}
	}
	return CheckRun(k.Run)
}

// String returns the id of the run, preceded by its namespace and a slash if it has one.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Run
	}
	return k.Namespace + "/" + k.Run
}

// CheckRun returns an error if a text cannot be the id of a run: [ErrNoRun] if it is empty,
// otherwise a [*RunIDError].
func CheckRun(run string) error {
	if run == "" {
		return ErrNoRun
	}
	if problem := problemOf(run); problem != "" {
		return &RunIDError{Run: run, Problem: problem}
	}
	return nil
}

// problemOf returns why a text cannot be an id or a namespace; "" if it can.
func problemOf(text string) string {
	switch {
	case len(text) > MaxRunID:
		return fmt.Sprintf("it has %d bytes, and may have %d", len(text), MaxRunID)
	case !utf8.ValidString(text):
		return "it is not UTF-8"
	case strings.ContainsRune(text, 0):
		return "it holds a NUL"
	default:
		return ""
	}
}

// RunIDError says why a text cannot be the id of a run. It wraps [ErrRunID].
type RunIDError struct {
	Run     string
	Problem string
}

// Error quotes the beginning of the id, and says what is wrong.
func (e *RunIDError) Error() string {
	return fmt.Sprintf("checkpoint: %.64q cannot be the id of a run: %s", e.Run, e.Problem)
}

// Unwrap returns [ErrRunID].
func (e *RunIDError) Unwrap() error { return ErrRunID }

// ConflictError says which record is not the next one. It wraps [ErrConflict].
type ConflictError struct {
	Key  Key
	Seq  int // the place that the record has
	Want int // the place that it should have
}

// Error names the run and the places.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("checkpoint: run %.64q: record %d is not the next one, that is %d: another process writes this run, or it was not read to its end", e.Key.String(), e.Seq, e.Want)
}

// Unwrap returns [ErrConflict].
func (e *ConflictError) Unwrap() error { return ErrConflict }

// NotFoundError says which run has no records. It wraps [ErrNotFound].
type NotFoundError struct{ Key Key }

// Error names the run.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("checkpoint: there is no run %.64q: it was never begun here, or has been deleted", e.Key.String())
}

// Unwrap returns [ErrNotFound].
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

// FencedError reports that another writer has opened the run since. It wraps [ErrFenced].
type FencedError struct {
	Key   Key
	Epoch int64 // of the writer
	Now   int64 // of the run
}

// Error names the run and the epochs.
func (e *FencedError) Error() string {
	return fmt.Sprintf("checkpoint: run %.64q: another process has taken it over: its epoch is %d now, and was %d here", e.Key.String(), e.Now, e.Epoch)
}

// Unwrap returns [ErrFenced].
func (e *FencedError) Unwrap() error { return ErrFenced }

// LeasedError reports that another writer has the lease of the run, and until when. It wraps
// [ErrLeased].
type LeasedError struct {
	Key   Key
	Until time.Time
}

// Error names the run and the time.
func (e *LeasedError) Error() string {
	return fmt.Sprintf("checkpoint: run %.64q: another process works on it, and has it until %s at least", e.Key.String(), e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrLeased].
func (e *LeasedError) Unwrap() error { return ErrLeased }

// SnapshotError reports that a snapshot cannot be one of the run: it stands for no record, or for
// more records than the run has. It wraps [ErrConflict].
type SnapshotError struct {
	Key     Key
	Records int // of the snapshot
	Last    int // the place of the last record of the run
}

// Error names the run and the numbers.
func (e *SnapshotError) Error() string {
	return fmt.Sprintf("checkpoint: run %.64q: a snapshot of %d records cannot be of this run, which has %d: it was deleted and begun anew, or the records were not stored before", e.Key.String(), e.Records, e.Last)
}

// Unwrap returns [ErrConflict].
func (e *SnapshotError) Unwrap() error { return ErrConflict }
