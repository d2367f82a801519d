package planreviseexecute

import (
	"slices"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy"
)

var _ strategy.Listener = (*planReviseExecute)(nil)

// notes are the notes of a run. The model that plans and judges is told each of them once, in the
// conversation; each step that begins after a note is told it in its goal.
type notes struct {
	all    []string
	told   int // that the conversation holds
	passed int // that a step was told
}

// Hear implements strategy.Listener.
func (s *planReviseExecute) Hear(note string) { s.notes.all = append(s.notes.all, note) }

// tell adds the notes to the conversation that it does not hold.
func (s *planReviseExecute) tell() {
	for _, note := range s.notes.all[s.notes.told:] {
		s.History = append(s.History, messages.UserText(note))
	}
	s.notes.told = len(s.notes.all)
}

// pass returns all notes, for a step.
func (n *notes) pass() []string {
	n.passed = len(n.all)
	return slices.Clone(n.all)
}

// unused returns the notes that had no effect.
func (n *notes) unused() []string { return n.all[max(n.told, n.passed):] }
