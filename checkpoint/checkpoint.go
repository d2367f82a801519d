// Package checkpoint holds the journals of runs: for each run records that are only ever appended.
// A [Store] knows nothing of what stands in them; [Memory] is one for a single process.
//
// What a Store may have besides its two methods, found by type assertion:
//
//	Delete(ctx context.Context, run string) error    forgets a run, if there is one: it may begin anew
//
// Package checkpointtest holds a Store of your own against the contract.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// Record is one entry of a journal.
type Record struct {
	Seq  int    // its place in the journal: 1, 2, 3, …
	Data []byte // any bytes, none included; the orchestrator writes JSON
}

// Store keeps journals. It is safe for concurrent use, by several processes if it says so, and so
// while a Read is ranged over: what one run has written may be appended to another as it comes.
//
// The id of a run is any UTF-8 text of 1 to 512 bytes without NUL, as [CheckRun] says; ids are the
// same only if all their bytes are. Nothing is kept under any other text. When ctx is done before a
// method begins it does nothing, and its error wraps ctx.Err().
//
// checkpointtest.Test holds an implementation against this contract.
type Store interface {
	// Append adds records to the journal of a run, all of them or none, and nobody reads some of
	// them without the others. Their places must be the next ones: the first record of a run has 1,
	// and each the one after the record before it. Otherwise nothing is added and the error wraps
	// ErrConflict, so that of two who write the same journal only one can. For a run without an id
	// it wraps ErrNoRun, and for one whose id is not such a text ErrRunID; nothing is added then.
	// After any other error all of them may have been added, or none.
	//
	// When Append returns nil the records are kept as the implementation promises, byte for byte.
	// To append none does nothing. The Store does not keep the slices.
	Append(ctx context.Context, run string, records ...Record) error

	// Read yields the records of a run in order, those before from left out (1 or less: all). It
	// reads when it is ranged over, each time anew. What is appended meanwhile may or may not be
	// yielded. An error ends it: one that wraps ErrNotFound if the run has no records at all, and
	// ctx.Err() once ctx is done. The data belong to the caller.
	Read(ctx context.Context, run string, from int) iter.Seq2[Record, error]
}

var (
	// ErrConflict is wrapped by the error of an Append whose records are not the next ones:
	// somebody else writes this journal. See [ConflictError].
	ErrConflict = errors.New("checkpoint: the records are not the next ones of the run")

	// ErrNotFound is wrapped by the error of a Read of a run that has no records. See
	// [NotFoundError].
	ErrNotFound = errors.New("checkpoint: there is no such run")

	// ErrNoRun is wrapped by the error of an Append to a run whose id is "".
	ErrNoRun = errors.New("checkpoint: the run has no id")

	// ErrRunID is wrapped by the error of an Append to a run whose id is no UTF-8 text of at most
	// 512 bytes without NUL. See [RunIDError].
	ErrRunID = errors.New("checkpoint: the run has an id that no store need take")
)

// MaxRunID is how many bytes the id of a run may have.
const MaxRunID = 512

// CheckRun returns an error if a text cannot be the id of a run: [ErrNoRun] for "", a [*RunIDError]
// for any other.
func CheckRun(run string) error {
	switch {
	case run == "":
		return ErrNoRun
	case len(run) > MaxRunID:
		return &RunIDError{Run: run, Problem: fmt.Sprintf("it has %d bytes, and may have %d", len(run), MaxRunID)}
	case !utf8.ValidString(run):
		return &RunIDError{Run: run, Problem: "it is not UTF-8"}
	case strings.ContainsRune(run, 0):
		return &RunIDError{Run: run, Problem: "it holds a NUL"}
	default:
		return nil
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
	Run  string
	Seq  int // the place that the record has
	Want int // the place that it should have
}

// Error names the run and the places.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("checkpoint: run %.64q: record %d is not the next one, that is %d: somebody else writes this run, or it was not read to its end", e.Run, e.Seq, e.Want)
}

// Unwrap returns [ErrConflict].
func (e *ConflictError) Unwrap() error { return ErrConflict }

// NotFoundError says which run has no records. It wraps [ErrNotFound].
type NotFoundError struct{ Run string }

// Error names the run.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("checkpoint: there is no run %.64q: it was never begun here, or has been deleted", e.Run)
}

// Unwrap returns [ErrNotFound].
func (e *NotFoundError) Unwrap() error { return ErrNotFound }
