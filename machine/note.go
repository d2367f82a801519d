package machine

import (
	"fmt"
	"slices"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The bounds of the notes of a run.
const (
	MaxNote  = 64 << 10 // maximum size of the text of a note in bytes; a larger one is refused
	MaxNotes = 64       // most notes that wait to be heard; one that comes then is unheard at once
)

// note is a note that a frame has not heard, or that nobody has heard.
type note struct {
	Noting
	heard bool // at least one frame has heard it
}

// noted applies a Noted: it emits its event, and keeps the note for the frames that live.
func (m *Machine) noted(rec Record) error {
	r, _ := canonical(rec.(Noted))
	if r.Text == "" {
		return &answerError{run: m.run, problem: "the note has no text"}
	}
	if len(r.Text) > MaxNote {
		return &answerError{run: m.run, problem: fmt.Sprintf("the text of the note has %d bytes, and %d are allowed", len(r.Text), MaxNote)}
	}
	m.begin(r.At)
	if r.Remark {
		m.emit(m.root, EventNoted, Noting{Text: r.Text})
		return nil
	}
	m.lastNote++
	n := note{Noting: Noting{Note: m.lastNote, Text: r.Text}}
	m.emit(m.root, EventNoted, n.Noting)
	if m.notes = m.kept(canHear); len(m.notes) >= MaxNotes {
		m.notes = m.kept(listens)
	}
	if len(m.notes) >= MaxNotes {
		m.emit(m.root, EventNoteUnheard, n.Noting)
		return nil
	}
	m.notes = append(m.notes, n)
	return nil
}

// process calls a method of the frame's strategy that takes an answer. Before that the strategy
// hears the notes that came since it was called last.
func (m *Machine) process(f *frame, method string, fn func() nextstep.NextStep) nextstep.NextStep {
	if len(m.notes) > 0 && m.endingOf(f) == nil {
		if broken := m.hear(f); broken != nil {
			return broken
		}
	}
	return m.call(f, method, fn)
}

// hear gives a frame the notes that it has not heard. It returns a step only if the strategy broke
// down.
func (m *Machine) hear(f *frame) (broken nextstep.NextStep) {
	l, ok := f.st.(strategy.Listener)
	if !ok {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			broken = nextstep.ReportError{Err: m.brokeDown(f, "Hear", v)}
		}
	}()
	for i := range m.notes {
		n := &m.notes[i]
		if n.Note <= f.heard {
			continue
		}
		f.heard, n.heard = n.Note, true
		m.emit(f, EventNoteHeard, n.Noting)
		l.Hear(n.Text)
	}
	return nil
}

// listens reports whether a strategy hears notes.
func listens(s strategy.Strategy) bool {
	_, ok := s.(strategy.Listener)
	return ok
}

// canHear reports whether a strategy hears notes, or a successor of it may.
func canHear(s strategy.Strategy) (can bool) {
	defer func() {
		if recover() != nil { // its frame fails when it hands off
			can = true
		}
	}()
	return listens(s) || len(strategy.NamesOf(s).Handoffs) > 0
}

// kept returns the notes that no frame has heard, and those that some live frame has still to hear
// whose strategy satisfies hearer. Every live frame must be parked or asleep.
func (m *Machine) kept(hearer func(strategy.Strategy) bool) []note {
	if len(m.notes) == 0 {
		return nil
	}
	var kept []note
	hearers := slices.DeleteFunc(m.live(), func(f *frame) bool { return !hearer(f.st) })
	for i := range m.notes {
		n := &m.notes[i]
		if !n.heard || slices.ContainsFunc(hearers, func(f *frame) bool { return f.heard < n.Note }) {
			kept = append(kept, *n)
		}
	}
	return kept
}

// unheard emits the events of the notes that nobody has heard, at the end of the run.
func (m *Machine) unheard() {
	for i := range m.notes {
		if n := &m.notes[i]; !n.heard {
			m.emitFor(m.root, m.seq, EventNoteUnheard, n.Noting)
		}
	}
	m.notes = nil
}

// toHear returns how many notes a frame is still to hear.
func (m *Machine) toHear(f *frame) (count int) {
	if !listens(f.st) {
		return 0
	}
	for i := range m.notes {
		if m.notes[i].Note > f.heard {
			count++
		}
	}
	return count
}

// NoteSnapshot is a note that a frame has not heard, or that nobody has heard.
type NoteSnapshot struct {
	Note  int    `json:"note"` // its number in the run, from 1
	Text  string `json:"text"`
	Heard bool   `json:"heard,omitempty"` // at least one frame has heard it
}

// noteSnapshots returns the state of the notes.
func (m *Machine) noteSnapshots() (all []NoteSnapshot) {
	for _, n := range m.kept(canHear) {
		all = append(all, NoteSnapshot{Note: n.Note, Text: n.Text, Heard: n.heard})
	}
	return all
}

// restoreNotes is the reverse of noteSnapshots.
func (m *Machine) restoreNotes(s *Snapshot) {
	m.lastNote = s.LastNote
	for _, n := range s.Notes {
		m.notes = append(m.notes, note{Noting: Noting{Note: n.Note, Text: n.Text}, heard: n.Heard})
	}
}
