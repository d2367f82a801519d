// Package checkpoint stores the journals of runs. A journal is a list of records that only grows;
// beside it, each run has a head with its status. Other libraries call a record a checkpoint, and a
// store a checkpointer. A [Store] does not interpret the records. [Memory] is a Store for a single
// process. The modules sqlitestore and pgstore keep runs on disk.
//
// A Store may have abilities in addition to its methods. [As] finds them, also behind wrappers:
//
//	Lister           lists runs by their heads
//	Inbox            keeps messages to a run until the process that works on it takes them
//	Leaser           records which process works on a run, so that runs of dead processes are found
//	Pruner           deletes runs, and what the store itself has left of them
//	SnapshotStore    keeps the last snapshot of a run, so that a long one is opened quickly
//	ValueStore       keeps what is too large for a record, and reads it in parts
//
// [Memory], sqlitestore and pgstore have all of them. Package checkpointtest tests a Store of your
// own against the contract. Package sealed encrypts what any Store keeps.
//
// No run is deleted by itself. [Prune] deletes runs by age, state and number; [Forget] erases one
// run and all that was made from it.
package checkpoint

import (
	"context"
	"iter"
	"time"
)

// Key identifies a run. Runs with the same id in two namespaces are different runs.
type Key struct {
	Namespace string // the owner, such as a tenant; "" is a namespace like any other
	Run       string // the run's id
}

// Record is one entry of a journal.
type Record struct {
	Seq  int    // its place in the journal: 1, 2, 3, …
	Type string // the type of the record, for readers of the store: at most 64 bytes of ASCII
	Data []byte // any bytes, none included; the orchestrator writes JSON
}

// Batch is what one [Store.Append] adds to a run.
type Batch struct {
	Key     Key
	Records []Record // the next ones, in order; none changes the head alone

	// Header says how the run stands after the records. Nil: as before them. The first batch of a
	// run has one.
	Header *Header

	// Writer identifies the writer: a unique text of at most 64 bytes of ASCII, made anew each time
	// a run is opened for writing. If an Append fails and its outcome is unclear, the writer
	// repeats exactly the same Append.
	Writer string

	// Epoch increases each time the run is opened for writing: it is the Epoch of the Head that was
	// read then, plus 1. The epoch of a run never decreases. A batch with a higher epoch than the
	// run's ends the lease of any other writer.
	Epoch int64

	// Lease, if positive, gives the writer the lease of the run for this time from now on; if
	// negative, it ends the writer's lease. A Store that is not a [Leaser] ignores it.
	Lease time.Duration

	// Taken are the ids of messages of the [Inbox] that the records answer. The append removes
	// them, only if it succeeds. Unknown ids are ignored.
	Taken []string

	// Progress reports that the run has made progress: the count of recoveries starts again at 0.
	Progress bool
}

// Header describes a run for those who list runs. The writer of the run sets it.
type Header struct {
	Status   Status            `json:"status"`
	Strategy string            `json:"strategy,omitempty"`
	Format   int               `json:"format,omitempty"`  // of the records: a program that knows only lower formats cannot read them
	Version  string            `json:"version,omitempty"` // of the program that wrote last
	Reason   string            `json:"reason,omitempty"`  // why the run has this status, if that needs an explanation
	Waits    []Wait            `json:"waits,omitempty"`   // what the run waits for
	Due      time.Time         `json:"due,omitzero"`      // when it continues although nobody has replied; zero: never
	Origin   Origin            `json:"origin,omitzero"`   // the run that it was made from
	Labels   map[string]string `json:"labels,omitempty"`
}

// Status is the status of a run.
type Status string

// The statuses.
const (
	StatusRunning Status = "running" // a process works on it, or has died while it did
	StatusWaiting Status = "waiting" // it waits for replies, or for a time
	StatusParked  Status = "parked"  // it continues only if it is resumed by hand; Reason says why
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
	StatusLimit   Status = "limit"
	StatusStopped Status = "stopped"
)

// Ended reports whether a run has ended: nothing is appended to it any more.
func (s Status) Ended() bool {
	switch s {
	case StatusDone, StatusFailed, StatusLimit, StatusStopped:
		return true
	default:
		return false
	}
}

// Wait is something that a run waits for. What is asked is in the records only.
type Wait struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Expires time.Time `json:"expires,omitzero"` // no reply counts after it; zero: never
}

// Origin is the run that another run was made from, such as by a fork.
type Origin struct {
	Run    string `json:"run,omitempty"`    // in the same namespace
	Record int    `json:"record,omitempty"` // the last record that both have in common; 0: none
}

// Head is the state of a run that a store knows without reading its records.
type Head struct {
	Key    Key
	Header Header // as its writer set it last

	Last       int       // the place of its last record
	Epoch      int64     // of its last writer, or of the last lease
	Created    time.Time // by the clock of the store, like all times except those of the Header
	Updated    time.Time // time of the last append
	Lease      Lease     // of the process that works on it; zero: none
	Recoveries int       // how often the lease was taken after it had run out, since the last Progress
}

// Lease records which writer works on a run.
type Lease struct {
	Writer string
	Until  time.Time
}

// Store stores journals. It is safe for concurrent use, also while a Read is ranged over, and by
// several processes if its documentation says so.
//
// The id of a run is any UTF-8 text of 1 to 512 bytes without NUL, a namespace any such text of 0
// to 512 bytes; see [Key.Check]. Keys are equal only if all their bytes are equal. Nothing is
// stored under any other key. If ctx is done before a method begins, the method does nothing, and
// its error wraps ctx.Err().
//
// An error should be an [*Error], which wraps its kind. If the store itself fails, because its disk
// is full or its data are damaged, the Error names the store.
//
// checkpointtest.Test tests an implementation against this contract.
type Store interface {
	// Append adds a batch to a run: all of it or nothing. No reader sees a part of a batch.
	//
	// The places of the records must be the next ones, counted from 1. Otherwise the error wraps
	// ErrConflict; so of two processes that write the same run only one can. If the run has a
	// higher epoch than the batch, another process has opened the run since, and the error wraps
	// ErrFenced, which wraps ErrConflict. For a batch without records of a run that has none, the
	// error wraps ErrNotFound; for an invalid key, ErrID. In all these cases nothing
	// is added.
	//
	// After any other error, either all of the batch was added or nothing. To find out, repeat
	// exactly the same Append: if the last records of the run are those of the batch, and the same
	// Writer appended them, Append adds nothing and returns nil.
	//
	// After Append returns nil, the batch is stored as durably as the implementation promises, byte
	// for byte. The Store does not retain the slices, the Header, or the map.
	Append(ctx context.Context, b Batch) error

	// Read yields the records of a run in order, beginning with place from (1 or less: all
	// records). It reads when it is ranged over, each time anew. Records that are appended
	// meanwhile may or may not be yielded. An error ends the sequence; it wraps ErrNotFound if the
	// run has no records at all, ErrCorrupt if what is stored is not what was appended, and
	// ctx.Err() once ctx is done. The data belong to the caller.
	Read(ctx context.Context, key Key, from int) iter.Seq2[Record, error]

	// Head returns the head of a run. The error wraps ErrNotFound if there is no such run. The Head
	// belongs to the caller.
	Head(ctx context.Context, key Key) (Head, error)
}
