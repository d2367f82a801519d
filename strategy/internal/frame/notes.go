package frame

import (
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/messages"
)

// Notes are the notes that a strategy has heard and that no model was told. They are embedded in a
// strategy, and implement [strategy.Listener].
type Notes struct{ untold []string }

// Hear implements strategy.Listener.
func (n *Notes) Hear(note string) { n.untold = append(n.untold, note) }

// Untold returns the notes that no model was told, in the order in which they came.
func (n *Notes) Untold() []string { return slices.Clone(n.untold) }

// Told returns a conversation with the untold notes as user messages at its end, and counts them as
// told. The conversation must have no open calls.
func (n *Notes) Told(h messages.History) messages.History {
	for _, note := range n.TakeNotes() {
		h = append(h, messages.UserText(note))
	}
	return h
}

// TakeNotes returns the untold notes, and counts them as told.
func (n *Notes) TakeNotes() []string {
	untold := n.untold
	n.untold = nil
	return untold
}

// SetNotes replaces the untold notes, by those of a snapshot.
func (n *Notes) SetNotes(untold []string) { n.untold = untold }

// SetUnused adds the notes of people that had no effect to the metadata of an output, if there are
// any.
func SetUnused(m *delegation.Metadata, notes []string) {
	SetList(m, "unused_notes", slices.DeleteFunc(slices.Clone(notes), func(note string) bool { return note == RepeatsNote }))
}
