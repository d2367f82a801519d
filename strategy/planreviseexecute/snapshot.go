package planreviseexecute

import (
	"encoding/json"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
	"github.com/segue-go/segue/strategy/planreviseexecute/internal/planorder"
)

var _ strategy.Snapshotter = (*planReviseExecute)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot.
type memory struct {
	frame.Version
	Goal      string            `json:"goal,omitempty"` // for the prompts
	History   messages.History  `json:"history"`
	Repaired  []string          `json:"repaired,omitempty"`  // repairs of the input messages
	Plan      planorder.Memory  `json:"plan,omitzero"`       // its current step is the next one that can be done
	Last      *string           `json:"last,omitempty"`      // result of the last step that was done
	Scrap     *string           `json:"scrap,omitempty"`     // text of the last failed step that left one
	Revisions []revisionMemory  `json:"revisions,omitempty"` // in order
	Parts     []delegation.Part `json:"parts,omitempty"`     // the work of the steps
	Notes     []string          `json:"notes,omitempty"`     // all that came
	Told      int               `json:"told,omitempty"`      // the first so many of the notes are in the history
	Passed    int               `json:"passed,omitempty"`    // the first so many of the notes were told to a step
}

type revisionMemory struct {
	Step     string           `json:"step,omitempty"`
	Feedback string           `json:"feedback,omitempty"`
	Plan     planorder.Memory `json:"plan,omitzero"`
}

// Snapshot implements strategy.Snapshotter.
func (s *planReviseExecute) Snapshot() (json.RawMessage, error) {
	m := memory{
		Version: frame.Version{V: memoryVersion}, Goal: s.goal, History: s.History, Repaired: s.Repaired, Plan: planorder.Remember(s.plan),
		Last: s.last, Scrap: s.scrap, Parts: s.parts,
		Notes: s.notes.all, Told: s.notes.told, Passed: s.notes.passed,
	}
	for _, r := range s.revisions {
		m.Revisions = append(m.Revisions, revisionMemory{Step: r.Step, Feedback: r.Feedback, Plan: planorder.Remember(r.Plan)})
	}
	return frame.Snapshot("planreviseexecute", m)
}

// Restore implements strategy.Snapshotter.
func (s *planReviseExecute) Restore(snapshot json.RawMessage) error {
	var m memory
	if err := s.Recall(memoryVersion, snapshot, &m, nil); err != nil {
		return err
	}
	plan := m.Plan.Plan()
	for _, step := range plan.Steps {
		for _, id := range step.DependsOn {
			if plan.Index(id) < 0 {
				return s.Misfit(fmt.Sprintf("step %q of its plan depends on %q, which is no step", step.ID, id))
			}
		}
	}
	if m.Told < 0 || m.Passed < 0 || max(m.Told, m.Passed) > len(m.Notes) {
		return s.Misfit("it was told of more notes than came")
	}
	s.notes = notes{all: m.Notes, told: m.Told, passed: m.Passed}
	s.goal, s.History, s.Repaired, s.last, s.scrap, s.parts = m.Goal, m.History, m.Repaired, m.Last, m.Scrap, m.Parts
	s.plan, s.step = plan, max(0, plan.Next())
	for _, r := range m.Revisions {
		s.revisions = append(s.revisions, Revision{Step: r.Step, Feedback: r.Feedback, Plan: r.Plan.Plan()})
	}
	s.Calls = frame.OpenCalls(s.History)
	return nil
}
