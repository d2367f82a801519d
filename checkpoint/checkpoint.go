// Package checkpoint holds the journals of runs: for each run records that are only ever appended. A [Store] knows nothing
// of what stands in them; [Memory] is one for a single process.
package checkpoint

import (
	"context"
	"errors"
	"iter"
)

// ErrConflict is wrapped by the error of an Append whose records are not the next ones: somebody else writes this journal.
var ErrConflict = errors.New("checkpoint: the records are not the next ones of the run")

// ErrNotFound is wrapped by the error of a Read of a run that has no records.
var ErrNotFound = errors.New("checkpoint: there is no such run")

// Record is one entry of a journal.
type Record struct {
	Seq  int    // its place in the journal: 1, 2, 3, …
	Data []byte // JSON
}

// Store keeps journals. It is safe for concurrent use, by several processes if it says so.
//
// checkpointtest.Test holds an implementation against this contract.
type Store interface {
	// Append adds records to the journal of a run, all of them or none. Their places must be the next ones: the first
	// record of a run has 1, and each the one after the record before it. Otherwise nothing is added and the error wraps
	// ErrConflict, so that of two who write the same journal only one can. When Append returns nil the records are kept as
	// the implementation promises. The Store does not keep the slices.
	Append(ctx context.Context, run string, records ...Record) error

	// Read yields the records of a run in order, those before from left out (1 or less: all). What is appended meanwhile
	// may or may not be yielded. An error ends it: one that wraps ErrNotFound if the run has no records at all. The data
	// belong to the caller.
	Read(ctx context.Context, run string, from int) iter.Seq2[Record, error]
}
