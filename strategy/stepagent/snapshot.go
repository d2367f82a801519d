package stepagent

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

var _ strategy.Snapshotter = (*stepAgent)(nil)

// memoryVersion is the version of memory.
const memoryVersion = 1

// memory is the JSON form of a snapshot. While a step awaits a reply, State and Notes are those
// with which the step began: the function that takes the reply cannot be written down, so Restore
// takes the step again, and gives it the replies that it has had.
type memory struct {
	frame.Version
	Goal      string           `json:"goal,omitempty"`
	Params    json.RawMessage  `json:"params,omitempty"` // Input.Data
	History   messages.History `json:"history"`
	Repaired  []string         `json:"repaired,omitempty"`  // repairs of the input messages
	State     json.RawMessage  `json:"state,omitempty"`     // of Config.NewState
	Notes     []Note           `json:"notes,omitempty"`     // in order
	Iteration int              `json:"iteration,omitempty"` // from 1
	Asking    *askingMemory    `json:"asking,omitempty"`    // of a step that awaits a reply
	Aligned   bool             `json:"aligned,omitempty"`   // the last request held the conversation, and later messages are in both
	Last      *lastRequest     `json:"last,omitempty"`      // the last request; absent before the first
	Answer    *string          `json:"answer,omitempty"`    // the last text
	Plan      string           `json:"plan,omitempty"`      // the last one
	Misplans  int              `json:"misplans,omitempty"`  // failed plans in a row
	Failures  int              `json:"failures,omitempty"`  // failed plans in all
	Reminders int              `json:"reminders,omitempty"` // of the final tool
	Asked     int              `json:"asked,omitempty"`     // model calls answered
	Untold    []string         `json:"untold,omitempty"`    // notes for the next step
}

type askingMemory struct {
	Replies []llmclient.Response `json:"replies,omitempty"` // that the step has had so far
	Heard   []string             `json:"heard,omitempty"`   // notes that came before the step
}

// Snapshot implements strategy.Snapshotter. It returns an error if the State does not survive its
// JSON form, or if a step that awaits a reply would not come to the same place again.
func (s *stepAgent) Snapshot() (json.RawMessage, error) {
	m := memory{
		Version: frame.Version{V: memoryVersion}, Goal: s.in.Goal, Params: s.in.Data, History: s.History, Repaired: s.Repaired,
		Notes: s.notes, Iteration: s.iteration, Aligned: s.aligned, Last: s.last, Answer: s.answer, Plan: s.plan,
		Misplans: s.misplans, Failures: s.failures, Reminders: s.reminders, Asked: s.Asked,
		Untold: s.Untold(),
	}
	var err error
	if s.then != nil {
		m.Asking, m.Notes = &askingMemory{Replies: s.begun.replies, Heard: s.begun.heard}, s.notes[:s.begun.notes]
		m.State, err = s.begun.state, s.begun.err
	} else {
		m.State, err = s.encodeState()
	}
	if err == nil {
		err = s.survives(m)
	}
	if err != nil {
		return nil, err
	}
	return frame.Snapshot(pkg, m)
}

// survives checks that the State and a step that awaits a reply can be restored.
func (s *stepAgent) survives(m memory) error {
	state, err := s.decodeState(m.State)
	if err != nil {
		return err
	}
	notes := slices.Clone(m.Notes)
	if m.Asking != nil {
		if _, err := s.retake(state, &notes, m.Asking.Replies); err != nil {
			return err
		}
	}
	if !slices.Equal(notes, s.notes) {
		return errors.New("stepagent: the memory cannot be written down: the step makes other notes when it is taken again: it must be pure")
	}
	return s.sameState(state)
}

// Restore implements strategy.Snapshotter.
func (s *stepAgent) Restore(snapshot json.RawMessage) error {
	var m memory
	if err := s.Recall(memoryVersion, snapshot, &m, nil); err != nil {
		return err
	}
	state, err := s.decodeState(m.State)
	if err != nil {
		return err
	}
	s.in, s.state = delegation.Input{Goal: m.Goal, Data: m.Params}, state
	s.History, s.Repaired, s.notes, s.iteration = m.History, m.Repaired, m.Notes, m.Iteration
	s.aligned, s.last, s.answer, s.plan = m.Aligned, m.Last, m.Answer, m.Plan
	s.misplans, s.failures, s.reminders, s.Asked = m.Misplans, m.Failures, m.Reminders, m.Asked
	s.SetNotes(m.Untold)
	s.Calls = frame.OpenCalls(s.History)
	if m.Asking == nil {
		return nil
	}
	s.begun = begun{state: m.State, notes: len(m.Notes), replies: m.Asking.Replies, heard: m.Asking.Heard}
	s.asks = len(m.Asking.Replies) + 1
	s.then, err = s.retake(state, &s.notes, m.Asking.Replies)
	return err
}

// retake takes the current step again, gives it the replies that it has had, and returns the
// function that takes the next one.
func (s *stepAgent) retake(state any, notes *[]Note, replies []llmclient.Response) (func(llmclient.Response) StepResult, error) {
	res := s.guarded("the step function", func() StepResult { return s.Step(s.input(state, notes)) })
	for _, reply := range replies {
		then := res.then
		if then == nil {
			break
		}
		res = s.guarded("the function that takes a reply", func() StepResult { return then(reply) })
	}
	if res.then == nil {
		return nil, frame.Misfit(pkg, "the step awaits a reply, and does not ask for it when it is taken again")
	}
	return res.then, nil
}
