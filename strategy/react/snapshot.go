package react

import (
	"encoding/json"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var _ strategy.Snapshotter = (*react)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot.
type memory struct {
	frame.Version
	Text     messages.History       `json:"text"`    // as the model sees it
	History  messages.History       `json:"history"` // as the output has it
	Repaired []string               `json:"repaired,omitempty"`
	Steps    int                    `json:"steps,omitempty"`  // turns that acted
	Used     []ToolUse              `json:"used,omitempty"`   // actions
	Finish   llmclient.FinishReason `json:"finish,omitempty"` // of the last reply
	Scrap    string                 `json:"scrap,omitempty"`  // the last reply, if it was unusable
	Part     *string                `json:"part,omitempty"`   // the latest part of an answer
	Found    []string               `json:"found,omitempty"`  // tools that were searched for, in the order in which they were found
	Untold   []string               `json:"untold,omitempty"` // notes that the model was not told

	Compact *compactMemory `json:"compact,omitempty"` // nil without Config.Compact
}

// Snapshot implements strategy.Snapshotter.
func (s *react) Snapshot() (json.RawMessage, error) {
	return frame.Snapshot("react", memory{
		Version: frame.Version{V: memoryVersion}, Text: s.text, History: s.History, Repaired: s.Repaired, Steps: s.steps,
		Used: s.used, Finish: s.Finish, Scrap: s.scrap, Part: s.part, Found: s.Search.Found(), Untold: s.Untold(),
		Compact: s.compactMemory(),
	})
}

// Restore implements strategy.Snapshotter.
func (s *react) Restore(snapshot json.RawMessage) error {
	var m memory
	if err := s.Recall(memoryVersion, snapshot, &m, &m.Found); err != nil {
		return err
	}
	s.equip()
	s.text, s.History, s.Repaired, s.steps = m.Text, m.History, m.Repaired, m.Steps
	s.used, s.Finish, s.scrap, s.part = m.Used, m.Finish, m.Scrap, m.Part
	if !s.restoreCompact(m.Compact) {
		return s.Misfit("the compaction does not fit the Config or the history")
	}
	s.SetNotes(m.Untold)
	s.ids = idsIn(s.History) // all ids up to the last call's are taken, so the next one is the same
	return nil
}
