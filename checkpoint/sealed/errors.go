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

// openError says what could not be opened, and why. It wraps [ErrPlain], [ErrForged], [ErrNoKey] or
// [ErrFormat]; with the first two [checkpoint.ErrCorrupt], too.
type openError struct {
	place place
	keyID string // of the key that it was sealed with, as far as it says so
	err   error
}

func (e *openError) Error() string {
	what := e.place.String()
	if e.keyID != "" {
		what += fmt.Sprintf(", sealed with key %.64q", e.keyID)
	}
	return fmt.Sprintf("sealed: run %.64q, %s: %v", e.place.key.String(), what, e.err)
}

func (e *openError) Unwrap() []error {
	if errors.Is(e.err, ErrPlain) || errors.Is(e.err, ErrForged) {
		return []error{e.err, checkpoint.ErrCorrupt}
	}
	return []error{e.err}
}
