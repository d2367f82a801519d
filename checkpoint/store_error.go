package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of failure that stores have in common. A [StoreError] of any store wraps one of them,
// or [ErrCorrupt], or a kind that only that store has.
var (
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

	// ErrNewer means that a newer version of this library has changed the store. See [SchemaError].
	ErrNewer = errors.New("checkpoint: a newer program has changed the store")

	// ErrTooLarge means that a record, message or snapshot, or a whole batch, has more bytes than
	// the store can take.
	ErrTooLarge = errors.New("checkpoint: the data are too large for the store")

	// ErrClosed means that the store was closed before the call.
	ErrClosed = errors.New("checkpoint: the store is closed")
)

// advices say what to do about a kind of failure, whichever store it comes from.
var advices = map[error]string{
	ErrFull:     "make room; nothing that was acknowledged is lost, and the call that failed may be made again",
	ErrBusy:     "try again later",
	ErrCorrupt:  "copy the store, then restore a backup",
	ErrForeign:  "open another place; nothing was changed in this one",
	ErrTooLarge: "keep large values elsewhere, and store their names",
}

// StoreError reports that a store failed, and why. It wraps Kind and Err. What a store refuses
// because of the contract of [Store], such as a conflict, is not a StoreError.
type StoreError struct {
	Store   string // the package of the store, such as "sqlitestore"
	Place   string // where the store keeps its runs: a file, a database; without passwords
	Key     Key    // the run; zero if the failure does not concern one run
	Record  int    // the place of the record in its journal; 0 if the failure does not concern one record
	Kind    error  // ErrFull, ErrBusy, … of this package, or a kind that only this store has
	Problem string // what exactly is wrong; may be empty
	Advice  string // what to do; empty: what this package advises for Kind, if anything
	Err     error  // the error of the database or the system; may be nil
}

// Error names the store, its place, the run and the record, and says what is wrong and what to do.
func (e *StoreError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: ", e.Store, e.Place)
	if e.Key != (Key{}) {
		fmt.Fprintf(&b, "run %.64q: ", e.Key.String())
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, "record %d: ", e.Record)
	}
	b.WriteString(textOf(e.Kind))
	if e.Problem != "" {
		b.WriteString(": " + e.Problem)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	advice := e.Advice
	if advice == "" {
		advice = advices[e.Kind]
	}
	if advice != "" {
		b.WriteString(" (" + advice + ")")
	}
	return b.String()
}

// textOf returns the text of a kind of failure without the name of this package: the text of a
// StoreError begins with the name of the store.
func textOf(kind error) string {
	if kind == nil {
		return "the store failed"
	}
	return strings.TrimPrefix(kind.Error(), "checkpoint: ")
}

// Unwrap returns Kind and Err, as far as they are not nil.
func (e *StoreError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// SchemaError reports that a newer version of this library has changed a store to a form that this
// version does not know. The store was not changed. It wraps [ErrNewer].
type SchemaError struct {
	Store   string // the package of the store, such as "sqlitestore"
	Place   string // where the store keeps its runs
	Version int    // the version of the schema
	Known   int    // the newest version that this program knows
}

// Error names the store, its place and both versions, and says what to do.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s: %s: %s: its schema has version %d, and this program knows versions up to %d (run the newer program, or open another place)", e.Store, e.Place, textOf(ErrNewer), e.Version, e.Known)
}

// Unwrap returns [ErrNewer].
func (e *SchemaError) Unwrap() error { return ErrNewer }
