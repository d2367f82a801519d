// Package checkpoint holds the journals of runs: for each run records that are only ever appended,
// and a head that says how the run stands. Others call a record a checkpoint, and a store a
// checkpointer. A [Store] knows nothing of what stands in the records; [Memory] is one for a single
// process. Packages sqlitestore and pgstore, modules of their own, keep runs on disk.
//
// A Store may have abilities besides its methods. [As] finds them, behind wrappers too:
//
//	Lister    lists runs by what their heads say
//	Inbox     holds what other processes have to say to a run until its owner takes it
//	Leaser    says who works on a run, so that a run whose process died is found
//	Pruner    deletes runs, and what the store itself has left of them
//
// [Memory], sqlitestore and pgstore have them all. Package checkpointtest holds a Store of your own
// against the contract.
package checkpoint

import (
	"context"
	"iter"
	"time"
)

// Key says which run is meant. Runs of one id in two namespaces have nothing to do with each other.
type Key struct {
	Namespace string // whose run it is, such as a tenant; "" is a namespace like any other
	Run       string // the run's id
}

// Record is one entry of a journal.
type Record struct {
	Seq  int    // its place in the journal: 1, 2, 3, …
	Type string // what kind of record it is, for readers of the store: at most 64 bytes of ASCII
	Data []byte // any bytes, none included; the orchestrator writes JSON
}

// Batch is what one [Store.Append] adds to a run.
type Batch struct {
	Key     Key
	Records []Record // the next ones, in order; none changes the head alone

	// Header says how the run stands after the records. Nil: as before them. The first batch of a
	// run has one.
	Header *Header

	// Writer names whoever appends: a text that nobody else has, made anew each time that a run is
	// opened to be written; at most 64 bytes of ASCII. A writer whose Append failed with an unclear
	// outcome makes the very same Append again.
	Writer string

	// Epoch is counted up each time that the run is opened to be written: the Epoch of the Head
	// that was read then, and 1. The epoch of a run never falls. A batch of a higher epoch than the
	// run's ends the lease of whoever had it.
	Epoch int64

	// Lease, if positive, gives the writer the lease of the run from now on for so long; if
	// negative, the writer's lease ends. A Store that is no [Leaser] ignores it.
	Lease time.Duration

	// Taken are messages of the [Inbox] that the records deal with. They are removed together with
	// the append, and only if it succeeds; those that are not there are ignored.
	Taken []string

	// Progress says that the run has come further: the recoveries that were counted are forgotten.
	Progress bool
}

// Header is what the writer of a run says of it, for those who look for runs.
type Header struct {
	Status   Status            `json:"status"`
	Strategy string            `json:"strategy,omitempty"`
	Format   int               `json:"format,omitempty"`  // of the records: who knows only lower ones leaves the run alone
	Version  string            `json:"version,omitempty"` // of the program that wrote last
	Reason   string            `json:"reason,omitempty"`  // why the run has this status, where that has to be said
	Waits    []Wait            `json:"waits,omitempty"`   // what the run waits for
	Due      time.Time         `json:"due,omitzero"`      // when it is to go on although nobody has replied; zero: never
	Origin   Origin            `json:"origin,omitzero"`   // what it was made from
	Labels   map[string]string `json:"labels,omitempty"`
}

// Status says how a run stands.
type Status string

// The statuses.
const (
	StatusRunning Status = "running" // somebody works on it, or has died over it
	StatusWaiting Status = "waiting" // it waits, and nobody works on it
	StatusParked  Status = "parked"  // it goes on only if somebody says so; Reason says why
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
	StatusLimit   Status = "limit"
	StatusStopped Status = "stopped"
)

// Ended reports whether a run has come to its end: nothing is appended to it any more.
func (s Status) Ended() bool {
	switch s {
	case StatusDone, StatusFailed, StatusLimit, StatusStopped:
		return true
	default:
		return false
	}
}

// Wait is something that a run waits for, without what is asked: that stands in the records.
type Wait struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// Origin is the run that another was made from: its fork, or what goes on with it.
type Origin struct {
	Run    string `json:"run,omitempty"`    // in the same namespace
	Record int    `json:"record,omitempty"` // the last one that both have in common; 0: none
}

// Head is how a run stands.
type Head struct {
	Key    Key
	Header Header // as its writer said last

	Last       int       // the place of its last record
	Epoch      int64     // of its last writer, or of the lease that was taken last
	Created    time.Time // by the clock of the store, as all times but those of the Header
	Updated    time.Time // when it was appended to last
	Lease      Lease     // of who works on it; zero: nobody has taken it
	Recoveries int       // how often a lease was taken after another had run out, since the last Progress
}

// Lease says who works on a run.
type Lease struct {
	Writer string
	Until  time.Time
}

// Store keeps journals. It is safe for concurrent use, by several processes if it says so, and so
// while a Read is ranged over: what one run has written may be appended to another as it comes.
//
// The id of a run is any UTF-8 text of 1 to 512 bytes without NUL, and a namespace one of 0 to 512,
// as [Key.Check] says; keys are the same only if all their bytes are. Nothing is kept under any
// other key. When ctx is done before a method begins it does nothing, and its error wraps
// ctx.Err().
//
// checkpointtest.Test holds an implementation against this contract.
type Store interface {
	// Append adds a batch to a run, all of it or nothing, and nobody reads some of it without the
	// rest.
	//
	// The places of the records must be the next ones: the first record of a run has 1, and each
	// the one after the record before it. Otherwise nothing is added and the error wraps
	// ErrConflict, so that of two who write the same run only one can. If the run has a higher
	// epoch than the batch, the error wraps ErrFenced, which wraps ErrConflict: the run was opened
	// by somebody else since. A batch without records, of a run that has none, wraps ErrNotFound.
	// A key that cannot be one wraps ErrNoRun or ErrRunID. Nothing is added in any of these cases.
	//
	// After any other error all of the batch may have been added, or nothing. Whoever makes the
	// very same Append again learns it: if the last records of the run are those of the batch, and
	// the same Writer has appended them, nothing is added and Append returns nil.
	//
	// When Append returns nil the batch is kept as the implementation promises, byte for byte. The
	// Store does not keep the slices, the Header, or the map.
	Append(ctx context.Context, b Batch) error

	// Read yields the records of a run in order, those before from left out (1 or less: all). It
	// reads when it is ranged over, each time anew. What is appended meanwhile may or may not be
	// yielded. An error ends it: one that wraps ErrNotFound if the run has no records at all, and
	// ctx.Err() once ctx is done. The data belong to the caller.
	Read(ctx context.Context, key Key, from int) iter.Seq2[Record, error]

	// Head returns how a run stands. Its error wraps ErrNotFound if there is no such run. The Head
	// belongs to the caller.
	Head(ctx context.Context, key Key) (Head, error)
}
