package reflection

import (
	"encoding/json"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var _ strategy.Snapshotter = (*reflection)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot.
type memory struct {
	frame.Version
	Input     *delegation.Input `json:"input,omitempty"` // for the generator, with repaired messages; nil without a generator
	Goal      string            `json:"goal,omitempty"`  // for the prompts
	History   messages.History  `json:"history"`
	Repaired  []string          `json:"repaired,omitempty"`  // repairs of the input messages
	Draft     *string           `json:"draft,omitempty"`     // the last complete draft
	Data      json.RawMessage   `json:"data,omitempty"`      // of that draft
	Scrap     string            `json:"scrap,omitempty"`     // the latest part of a draft
	Critiques []Critique        `json:"critiques,omitempty"` // in order
	Untold    []string          `json:"untold,omitempty"`    // notes that whoever writes drafts was not told
}

// Snapshot implements strategy.Snapshotter.
func (s *reflection) Snapshot() (json.RawMessage, error) {
	m := memory{
		Version: frame.Version{V: memoryVersion}, Goal: s.goal, History: s.History, Repaired: s.Repaired, Draft: s.draft,
		Data: s.data, Scrap: s.scrap, Critiques: s.critiques, Untold: s.Untold(),
	}
	if s.Generator != "" {
		m.Input = &s.input
	}
	return frame.Snapshot("reflection", m)
}

// Restore implements strategy.Snapshotter.
func (s *reflection) Restore(snapshot json.RawMessage) error {
	var m memory
	if err := s.Recall(memoryVersion, snapshot, &m, nil); err != nil {
		return err
	}
	if (m.Input != nil) != (s.Generator != "") {
		return s.Misfit("it has an input for a generator, or lacks one, unlike the Config")
	}
	if m.Input != nil {
		s.input = *m.Input
	}
	s.goal, s.History, s.Repaired = m.Goal, m.History, m.Repaired
	s.draft, s.data, s.scrap, s.critiques = m.Draft, m.Data, m.Scrap, m.Critiques
	s.SetNotes(m.Untold)
	return nil
}
