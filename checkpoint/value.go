package checkpoint

import (
	"context"
	"fmt"
)

// Value is data that a run keeps beside its journal, because they are too large for a record, such
// as the whole result of a tool.
type Value struct {
	ID   string // the name of the data within the run, see [CheckValue]
	Size int64  // how many bytes they are
}

// ValueStore keeps values of runs: data that are written once, are never changed, and are read in
// parts. A value belongs to its run, and is deleted with it. A Store does not interpret the id: who
// puts a value takes the hash of the data, so that the same data have the same id.
//
// Any process may put a value, whoever works on the run: values that no record names do no harm. A
// record that names a value is appended after the value was put.
type ValueStore interface {
	// PutValue stores a value. If the run has a value of that id already, nothing changes; so a
	// value may be put again if the outcome is unclear. After PutValue returns nil, the value is
	// stored as durably as records are. The error wraps ErrNotFound if there is no such run, and
	// ErrID if the id cannot be one. PutValue does not retain the slice.
	PutValue(ctx context.Context, key Key, id string, data []byte) error

	// ReadValue returns the bytes of a value from offset on, at most length of them, and the size
	// of the whole. A negative offset counts as 0; beyond the end, and for a length of 0 or less,
	// there are no bytes, and no error. It reads little more than what it returns. The error wraps
	// ErrNotFound if the run has no such value, and ErrCorrupt if the bytes are not those that were
	// put. The data belong to the caller.
	ReadValue(ctx context.Context, key Key, id string, offset int64, length int) (data []byte, size int64, err error)

	// Values returns the values of a run, sorted by id. A run that does not exist has none.
	Values(ctx context.Context, key Key) ([]Value, error)
}

// maxValueID is how many bytes the id of a value may have.
const maxValueID = 64

// CheckValue returns an [*Error], which wraps [ErrID], unless a text can be the id of a value: 1
// to 64 bytes of ASCII without spaces and control characters.
func CheckValue(id string) error {
	problem := ""
	switch {
	case id == "":
		problem = "it is empty"
	case len(id) > maxValueID:
		problem = fmt.Sprintf("it has %d bytes, and may have %d", len(id), maxValueID)
	}
	for i := 0; i < len(id) && problem == ""; i++ {
		if id[i] <= ' ' || id[i] > '~' {
			problem = "it is not ASCII without spaces"
		}
	}
	if problem == "" {
		return nil
	}
	return &Error{Kind: ErrID, Problem: fmt.Sprintf("value %.64q: %s", id, problem)}
}

// Span returns which bytes a [ValueStore].ReadValue returns of a value of so many: those from first
// to before end.
func Span(size, offset int64, length int) (first, end int64) {
	first = min(max(offset, 0), size)
	return first, first + min(max(int64(length), 0), size-first)
}
