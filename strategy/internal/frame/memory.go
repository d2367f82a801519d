package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/segue-go/segue/messages"
)

// Version is embedded in the memory of a strategy, which is the JSON form of its snapshots. A
// change of that form, or of its meaning, needs a new version.
//
// A memory holds neither what can be derived from its other fields, nor the error of a prompt: a
// strategy ends with that error before it returns another step.
type Version struct {
	V int `json:"v"`
}

// Snapshot returns the JSON form of the memory of a package's strategy.
func Snapshot(pkg string, memory any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // JSON inside the memory must come back byte by byte
	if err := e.Encode(memory); err != nil {
		return nil, fmt.Errorf("%s: the memory cannot be written down: %w", pkg, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Restore reads a memory of that version. Fields that the memory does not have are refused by name,
// because without them the strategy would decide differently.
func Restore(pkg string, version int, snapshot json.RawMessage, memory any) error {
	var head Version
	if err := json.Unmarshal(snapshot, &head); err != nil {
		return misfit(pkg, err)
	}
	if head.V != version {
		return misfit(pkg, fmt.Errorf("it has version %d, and this strategy reads version %d", head.V, version))
	}
	d := json.NewDecoder(bytes.NewReader(snapshot))
	d.DisallowUnknownFields()
	if err := d.Decode(memory); err != nil {
		return misfit(pkg, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return misfit(pkg, errors.New("text follows it"))
	}
	return nil
}

// Misfit returns the error for a snapshot that does not fit the strategy of a package.
func Misfit(pkg, problem string) error { return misfit(pkg, errors.New(problem)) }

func misfit(pkg string, err error) error {
	text := strings.TrimPrefix(err.Error(), "json: ")
	return &misfitError{text: fmt.Sprintf("%s: the snapshot does not fit: %s", pkg, text), cause: err}
}

// misfitError is an error of encoding/json without its prefix.
type misfitError struct {
	text  string
	cause error
}

func (e *misfitError) Error() string { return e.text }

func (e *misfitError) Unwrap() error { return e.cause }

// OpenCalls returns the calls at the end of a conversation, whose results are awaited; nil if there
// are none.
func OpenCalls(h messages.History) []messages.ToolCall {
	a, _ := h.Last().(messages.Assistant)
	return a.Calls()
}
