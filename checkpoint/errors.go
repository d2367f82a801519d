package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The kinds of errors that stores have in common. An [*Error] wraps one of them, or a kind that
// only one store has.
var (
	// ErrConflict refuses what does not follow what the run has, such as records that are not the
	// next ones: another writer writes this run.
	ErrConflict = errors.New("checkpoint: this does not follow what the run has")

	// ErrFenced refuses an Append if another writer has opened the run since. It wraps ErrConflict.
	ErrFenced = fmt.Errorf("%w: another process has taken it over", ErrConflict)

	// ErrLeased refuses the lease of a run that another writer has, until Error.Until at least.
	ErrLeased = errors.New("checkpoint: another process works on the run")

	// ErrNotFound means that there is no such run, or that the run has no such value or snapshot.
	ErrNotFound = errors.New("checkpoint: it is not there")

	// ErrID refuses an id that cannot be one; see [Key.Check] and [CheckValue].
	ErrID = errors.New("checkpoint: the id is not valid")

	// ErrCorrupt means that what is stored of a run is not what was written: it does not get better
	// if it is tried again. [Pruner].Delete deletes such a run.
	ErrCorrupt = errors.New("checkpoint: the stored data are damaged")

	// ErrFull means that the disk of the store is full. Nothing that was acknowledged is lost, and
	// the same call succeeds once there is room.
	ErrFull = errors.New("checkpoint: the disk is full")

	// ErrReadOnly means that the store can be read, but not written.
	ErrReadOnly = errors.New("checkpoint: the store cannot be written")

	// ErrBusy means that other callers kept the store busy for longer than the call may wait. The
	// same call may succeed later.
	ErrBusy = errors.New("checkpoint: the store is busy")

	// ErrForeign means that the place holds the data of another program. Nothing in it was changed.
	ErrForeign = errors.New("checkpoint: this is not a store of runs")

	// ErrNewer means that a newer version of this library has changed the store to a form that this
	// version does not know. The store was not changed.
	ErrNewer = errors.New("checkpoint: a newer program has changed the store")

	// ErrTooLarge means that a record, message or snapshot, or a whole batch, has more bytes than
	// the store can take.
	ErrTooLarge = errors.New("checkpoint: the data are too large for the store")

	// ErrClosed means that the store was closed before the call.
	ErrClosed = errors.New("checkpoint: the store is closed")
)

// advices say what to do about a kind of error, whichever store it comes from.
var advices = map[error]string{
	ErrConflict: "another process writes this run, it was begun anew, or it was not read to its end",
	ErrNotFound: "it was never stored here, or has been deleted",
	ErrFull:     "make room; nothing that was acknowledged is lost, and the call that failed may be made again",
	ErrBusy:     "try again later",
	ErrCorrupt:  "copy the store, then restore a backup",
	ErrForeign:  "open another place; nothing was changed in this one",
	ErrNewer:    "run the newer program, or open another place",
	ErrTooLarge: "keep large values elsewhere, and store their names",
}

// Error says what a store has refused, as the contract of [Store] says, or why it has failed. It
// wraps Kind and Err.
type Error struct {
	Kind    error     // ErrConflict, ErrFull, … of this package, or a kind that only this store has
	Store   string    // the package of the store that has failed, such as "sqlitestore"; "" if it has not, and refuses the call
	Place   string    // where the store keeps its runs: a file, a database; without passwords
	Key     Key       // the run; zero if the error does not concern one run
	Record  int       // the place of the record in its journal; 0 if the error does not concern one record
	Until   time.Time // of ErrLeased: how long the other writer has the lease at least
	Problem string    // what exactly is wrong; may be empty
	Advice  string    // what to do; empty: what this package advises for Kind, if anything
	Err     error     // the error of the database or the system; may be nil
}

// Error names the store, its place, the run and the record, and says what is wrong and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(e.Store, "checkpoint") + ": ")
	if e.Place != "" {
		b.WriteString(e.Place + ": ")
	}
	if e.Key != (Key{}) {
		fmt.Fprintf(&b, "run %.64q: ", e.Key.String())
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, "record %d: ", e.Record)
	}
	b.WriteString(textOf(e.Kind))
	if !e.Until.IsZero() {
		b.WriteString(": it has the run until " + e.Until.UTC().Format(time.RFC3339) + " at least")
	}
	if e.Problem != "" {
		b.WriteString(": " + e.Problem)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if advice := cmp.Or(e.Advice, advices[e.Kind]); advice != "" {
		b.WriteString(" (" + advice + ")")
	}
	return b.String()
}

// textOf returns the text of a kind of error without the name of this package: the text of an Error
// begins with the name of the store.
func textOf(kind error) string {
	if kind == nil {
		return "the store failed"
	}
	return strings.TrimPrefix(kind.Error(), "checkpoint: ")
}

// Unwrap returns Kind and Err, as far as they are not nil.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// MaxRunID is how many bytes the id of a run may have, and a namespace.
const MaxRunID = 512

// Check returns an [*Error], which wraps [ErrID], unless the key can be that of a run.
func (k Key) Check() error {
	problem := problemOf(k.Run)
	if k.Run == "" {
		problem = "the run has no id"
	}
	if p := problemOf(k.Namespace); p != "" {
		problem = "its namespace: " + p
	}
	if problem == "" {
		return nil
	}
	return &Error{Kind: ErrID, Key: k, Problem: problem}
}

// String returns the id of the run, preceded by its namespace and a slash if it has one.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Run
	}
	return k.Namespace + "/" + k.Run
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
