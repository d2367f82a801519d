// Package journals reads the journals of runs. It is also what package orchestrator lets package
// runs do with its store.
package journals

import (
	"context"
	"iter"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
)

// Access reads and stores whole runs with the Config of an Orchestrator.
type Access struct {
	Read  func(checkpoint.Key) (*Reading, error)                                    // begins before the first record
	Heads func(context.Context, checkpoint.Query) iter.Seq2[checkpoint.Head, error] // the error comes last

	// Redact calls Config.Redact for a record of a run; nil: there is none.
	Redact func(ctx context.Context, run string, rec machine.Record) (machine.Record, error)

	// Values returns the large results of a run that the records name, or all of them if records
	// is nil.
	Values func(ctx context.Context, key checkpoint.Key, records []machine.Record) ([]Value, error)

	Takes func(context.Context, []Value) error // says why the store cannot take large results from elsewhere
	Store func(context.Context, *Run) (checkpoint.Head, error)
}

// Value is a large result to be copied to another run. Text reads it from its source.
type Value struct {
	ID   string
	Text func(context.Context) (string, error)
}

// Run is a run to be stored under a key that is new.
type Run struct {
	Key     checkpoint.Key
	Machine *machine.Machine // after the records
	Records []checkpoint.Record
	Values  []Value
	Reason  string  // why the run is parked if it could go on at once: no process works on it
	Version *string // of the program that stored the run elsewhere; nil: of this one
}
