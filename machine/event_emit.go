package machine

import (
	"slices"
	"time"
)

// stepTaken emits the event of an answered step.
func (m *Machine) stepTaken(f *frame, s StepTaken) {
	if !m.cfg.Quiet {
		s.Left = m.remaining(m.root).limits()
		m.emit(f, EventStepTaken, s)
	}
}

// emit adds an event of a frame, with the number of its last step.
func (m *Machine) emit(f *frame, kind EventKind, detail Detail) { m.emitFor(f, f.seq, kind, detail) }

// emitFor adds an event of a step of a frame. It writes the event in place, because copying one
// costs more than the rest of this function.
func (m *Machine) emitFor(f *frame, seq int, kind EventKind, detail Detail) {
	m.index++
	n := len(m.out.Events)
	m.out.Events = slices.Grow(m.out.Events, max(1, 4-n))[:n+1] // a record has some four events
	e := &m.out.Events[n]
	e.Run, e.Frame, e.Depth, e.Seq, e.Record, e.Index = m.run, f.name, f.depth, seq, m.records, m.index
	e.Kind, e.Text, e.Detail, e.Time = kind, "", detail, time.Time{}
}
