package reasonactobserve

import (
	"encoding/json"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/compact"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var _ strategy.Snapshotter = (*reasonActObserve)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot.
type memory struct {
	frame.Version
	Consult  string                 `json:"consult,omitempty"` // arguments of the call to data sources that is still to be made
	Goal     string                 `json:"goal,omitempty"`    // for the prompts
	History  messages.History       `json:"history"`
	Repaired []string               `json:"repaired,omitempty"` // repairs of the input messages
	Step     int                    `json:"step,omitempty"`     // from 1
	Before   int                    `json:"before,omitempty"`   // length of the history when this step began to act
	Results  []resultMemory         `json:"results,omitempty"`  // of this step
	Refused  []messages.ToolOutput  `json:"refused,omitempty"`  // answers to the refused calls of this turn
	Runs     map[string]int         `json:"runs,omitempty"`     // how often a tool ran with the same arguments, by tool and arguments
	Used     []string               `json:"used,omitempty"`     // tools that were run
	Unforced bool                   `json:"unforced,omitempty"` // the provider refuses a forced tool choice
	Asked    int                    `json:"asked,omitempty"`    // model calls answered
	Finish   llmclient.FinishReason `json:"finish,omitempty"`   // of the last reply
	Found    []string               `json:"found,omitempty"`    // tools that were searched for, in the order in which they were found
	Compact  *compact.State         `json:"compact,omitempty"`  // what is known of the length of requests
	Pending  strategy.Trigger       `json:"pending,omitempty"`  // what is due after the summary that is awaited
	Untold   []string               `json:"untold,omitempty"`   // notes that the model was not told
}

// resultMemory is the JSON form of a PromptResult.
type resultMemory struct {
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Text      string `json:"text,omitempty"`
	OK        bool   `json:"ok,omitempty"`
}

// Snapshot implements strategy.Snapshotter.
func (s *reasonActObserve) Snapshot() (json.RawMessage, error) {
	m := memory{
		Version: frame.Version{V: memoryVersion}, Goal: s.goal, History: s.History, Repaired: s.Repaired, Step: s.step,
		Before: s.before, Refused: s.refused, Runs: s.runs, Used: s.used, Unforced: s.unforced, Asked: s.Asked, Finish: s.Finish,
		Found:   s.Search.Found(),
		Compact: s.Compact.State(), Pending: s.Pending,
		Untold: s.Untold(),
	}
	if s.consult != nil {
		m.Consult = s.consult.arguments
	}
	for _, r := range s.results {
		m.Results = append(m.Results, resultMemory(r))
	}
	return frame.Snapshot(pkg, m)
}

// Restore implements strategy.Snapshotter.
func (s *reasonActObserve) Restore(snapshot json.RawMessage) error {
	var m memory
	if err := s.Recall(memoryVersion, snapshot, &m, &m.Found); err != nil {
		return err
	}
	if err := s.RecallCompaction(m.Compact, m.History); err != nil {
		return err
	}
	switch {
	case m.Before < 0 || m.Before > len(m.History):
		return s.Misfit("before is outside the history")
	case m.Consult == "":
		s.consult = nil
	case s.consult == nil:
		return s.Misfit("data sources are still to be consulted, and the Config has no Retrieval")
	default:
		s.consult.arguments = m.Consult
	}
	s.Pending = m.Pending
	s.goal, s.History, s.Repaired, s.step, s.before = m.Goal, m.History, m.Repaired, m.Step, m.Before
	s.refused, s.used, s.unforced, s.Asked, s.Finish = m.Refused, m.Used, m.Unforced, m.Asked, m.Finish
	s.SetNotes(m.Untold)
	for _, r := range m.Results {
		s.results = append(s.results, PromptResult(r))
	}
	if m.Runs != nil {
		s.runs = m.Runs
	}
	s.Calls = frame.OpenCalls(s.History)
	return nil
}
