package workflow

import (
	"encoding/json"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var _ strategy.Snapshotter = (*flow)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot.
type memory struct {
	frame.Version
	Input    delegation.Input    `json:"input"` // with repaired messages
	Repaired []string            `json:"repaired,omitempty"`
	Results  []Result            `json:"results,omitempty"`  // of the parts that have ended, in order
	Work     []delegation.Part   `json:"work,omitempty"`     // of the parts
	Feedback string              `json:"feedback,omitempty"` // of the judge of a Loop
	Calls    []messages.ToolCall `json:"calls,omitempty"`    // of the last step that called tools
	Tried    []Result            `json:"tried,omitempty"`    // the last attempt at each part of a Parallel; empty ones for those without
	Open     []int               `json:"open,omitempty"`     // the numbers of the parts of a Parallel that are at work
}

// Snapshot implements strategy.Snapshotter.
func (s *flow) Snapshot() (json.RawMessage, error) {
	return frame.Snapshot("workflow", memory{
		Version: frame.Version{V: memoryVersion}, Input: s.given, Repaired: s.repaired, Results: s.results, Work: s.work,
		Feedback: s.feedback, Calls: s.calls, Tried: s.tried, Open: s.open,
	})
}

// Restore implements strategy.Snapshotter.
func (s *flow) Restore(snapshot json.RawMessage) error {
	var m memory
	if s.Err != nil {
		return s.Err
	}
	if err := frame.Restore("workflow", memoryVersion, snapshot, &m); err != nil {
		return err
	}
	for _, r := range m.Results {
		if s.part(r.Part) == nil {
			return frame.Misfit("workflow", "it has a result of part \""+r.Part+"\", which there is not")
		}
	}
	if len(m.Tried) != 0 && len(m.Tried) != len(s.together) {
		return frame.Misfit("workflow", "it has another number of parts that work at the same time")
	}
	for i, r := range m.Tried {
		if r.Part != "" && r.Part != s.together[i].Name {
			return frame.Misfit("workflow", "other parts work at the same time")
		}
	}
	for _, i := range m.Open {
		if i < 0 || i >= len(m.Tried) {
			return frame.Misfit("workflow", "a part is at work that there is not")
		}
	}
	s.given, s.repaired, s.results, s.work = m.Input, m.Repaired, m.Results, m.Work
	s.feedback, s.calls, s.tried, s.open = m.Feedback, m.Calls, m.Tried, m.Open
	return nil
}
