package completetask

import (
	"encoding/json"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/compact"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var _ strategy.Snapshotter = (*completeTask)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot.
type memory struct {
	frame.Version
	History    messages.History       `json:"history"`
	Repaired   []string               `json:"repaired,omitempty"`    // repairs of the input messages
	Asked      int                    `json:"asked,omitempty"`       // model calls answered
	Acted      bool                   `json:"acted,omitempty"`       // a tool was called
	Unforced   bool                   `json:"unforced,omitempty"`    // the provider refuses a forced tool choice
	AnswerTool bool                   `json:"answer_tool,omitempty"` // the provider refuses the response format; the final tool replaces it
	Pieces     []string               `json:"pieces,omitempty"`      // of an answer that was cut off and continued
	Refused    string                 `json:"refused,omitempty"`     // the last answer that was not taken
	Dropped    []string               `json:"dropped,omitempty"`     // tools whose calls were not run beside one that ends the work
	Finish     llmclient.FinishReason `json:"finish,omitempty"`      // of the last reply
	Found      []string               `json:"found,omitempty"`       // tools that were searched for, in the order in which they were found
	FinalAt    int                    `json:"final_at,omitempty"`    // number of found tools before the final tool, plus one; 0: it was not offered beside a search
	Compact    *compact.State         `json:"compact,omitempty"`     // what is known of the length of requests
	Pending    strategy.Trigger       `json:"pending,omitempty"`     // what is due after the summary that is awaited
	News       *string                `json:"news,omitempty"`        // why the request after that summary would not extend the last one without it
	Goal       string                 `json:"goal,omitempty"`        // for a successor that is given the goal
	Untold     []string               `json:"untold,omitempty"`      // notes that the model was not told
}

// Snapshot implements strategy.Snapshotter.
func (s *completeTask) Snapshot() (json.RawMessage, error) {
	return frame.Snapshot("completetask", memory{
		Version: frame.Version{V: memoryVersion}, History: s.History, Repaired: s.Repaired, Asked: s.Asked, Acted: s.acted,
		Unforced: s.unforced, AnswerTool: s.final && s.Answer != AnswerTool, Pieces: s.pieces, Refused: s.refused, Dropped: s.dropped, Finish: s.Finish,
		Found: s.Search.Found(), FinalAt: s.finalAt,
		Compact: s.Compact.State(), Pending: s.Pending, News: s.News,
		Goal: s.goalToKeep(), Untold: s.Untold(),
	})
}

// Restore implements strategy.Snapshotter.
func (s *completeTask) Restore(snapshot json.RawMessage) error {
	var m memory
	if err := s.Recall(memoryVersion, snapshot, &m, &m.Found); err != nil {
		return err
	}
	if m.AnswerTool && s.answerTool.Name == "" {
		return s.Misfit("the answer is awaited by the final tool, and the Config has no Schema for it")
	}
	if m.FinalAt < 0 || m.FinalAt > 0 && (!s.Search.Active() || m.FinalAt > len(m.Found)+1) {
		return s.Misfit("final_at is outside the tools that were found")
	}
	if err := s.RecallCompaction(m.Compact, m.History); err != nil {
		return err
	}
	s.Pending, s.News, s.finalAt = m.Pending, m.News, m.FinalAt
	s.History, s.Repaired, s.Asked, s.acted, s.unforced = m.History, m.Repaired, m.Asked, m.Acted, m.Unforced
	s.final = s.final || m.AnswerTool
	s.pieces, s.refused, s.dropped, s.Finish = m.Pieces, m.Refused, m.Dropped, m.Finish
	s.goal = m.Goal
	s.SetNotes(m.Untold)
	return nil
}
