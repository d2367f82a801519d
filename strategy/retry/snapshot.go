package retry

import (
	"encoding/json"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var _ strategy.Snapshotter = (*retry)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot.
type memory struct {
	frame.Version
	Input    delegation.Input  `json:"input"`              // with repaired messages
	Attempts []Attempt         `json:"attempts,omitempty"` // each with its metadata, the last one too
	Earlier  []delegation.Part `json:"earlier,omitempty"`  // the work of the attempts before the last one
	Last     lastMemory        `json:"last,omitzero"`      // the work of the last attempt that ended
	Result   *string           `json:"result,omitempty"`   // the latest Result
	Data     json.RawMessage   `json:"data,omitempty"`     // the Data with that Result
}

// lastMemory is what is needed of the output of the last attempt.
type lastMemory struct {
	Messages messages.History  `json:"messages,omitempty"`
	Parts    []delegation.Part `json:"parts,omitempty"`
	Begin    int               `json:"begin,omitempty"`
}

// Snapshot implements strategy.Snapshotter.
func (s *retry) Snapshot() (json.RawMessage, error) {
	return frame.Snapshot("retry", memory{
		Version: frame.Version{V: memoryVersion}, Input: s.input, Attempts: s.attempts, Earlier: s.earlier,
		Last:   lastMemory{Messages: s.last.Messages, Parts: s.last.Parts, Begin: s.last.Begin},
		Result: s.result, Data: s.data,
	})
}

// Restore implements strategy.Snapshotter.
func (s *retry) Restore(snapshot json.RawMessage) error {
	var m memory
	if s.Err != nil {
		return s.Err
	}
	if err := frame.Restore("retry", memoryVersion, snapshot, &m); err != nil {
		return err
	}
	s.begin(m.Input)
	s.attempts, s.earlier, s.result, s.data = m.Attempts, m.Earlier, m.Result, m.Data
	s.last = delegation.Output{Messages: m.Last.Messages, Parts: m.Last.Parts, Begin: m.Last.Begin}
	if n := len(s.attempts); n > 0 {
		s.last.Metadata = s.attempts[n-1].Metadata
	}
	return nil
}
