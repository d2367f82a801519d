package runs

import (
	"maps"
	"slices"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// adopt returns a record of the other run as one of the new run, and whether that is another.
func (f *forking) adopt(rec machine.Record) (machine.Record, bool) {
	switch r := rec.(type) {
	case machine.Started:
		return f.adoptStarted(r), true
	case machine.Asked:
		r.Wait = f.adoptWait(r.Wait, r.Effect)
		return r, true
	case machine.Suspended:
		waits := make([]machine.Wait, len(r.Waits))
		for i, w := range r.Waits {
			waits[i] = f.adoptWait(w, r.Effect)
		}
		r.Waits = waits
		return r, true
	case machine.Replied:
		r.Reply.WaitID = f.adoptID(r.Reply.WaitID)
		return r, true
	case machine.Migrated:
		r.Snapshot = f.adoptSnapshot(r.Snapshot)
		return r, true
	default:
		return rec, false
	}
}

func (f *forking) adoptStarted(s machine.Started) machine.Started {
	s.Run, s.Nonce, s.Origin = f.run, "", f.origin()
	if f.how.Labels != nil {
		s.Labels = f.how.Labels
	}
	s.Labels = sessionLabels(s.Labels, f.how.Session)
	return s
}

// adoptSnapshot returns the snapshot of the other run as one of the new run. It shares nothing that
// differs.
func (f *forking) adoptSnapshot(s machine.Snapshot) machine.Snapshot {
	s.Started, s.Frames = f.adoptStarted(s.Started), slices.Clone(s.Frames)
	for i := range s.Frames {
		frame := &s.Frames[i]
		if frame.Effect != nil {
			frame.Effect = new(*frame.Effect)
			frame.Effect.Waits = f.adoptWaits(frame.Effect.Waits, machine.EffectID{Seq: frame.Seq})
		}
		frame.Calls = slices.Clone(frame.Calls)
		for k := range frame.Calls {
			frame.Calls[k].Waits = f.adoptWaits(frame.Calls[k].Waits, machine.EffectID{Seq: frame.Seq, Index: k + 1})
		}
	}
	return s
}

// adoptWaits returns all that an effect of a snapshot has waited for.
func (f *forking) adoptWaits(waits []machine.WaitSnapshot, of machine.EffectID) []machine.WaitSnapshot {
	waits = slices.Clone(waits)
	for i := range waits {
		w := &waits[i]
		asked := of
		if w.Wait.Kind == machine.WaitApproval || w.Wait.Kind == machine.WaitUnknown {
			asked.Wait = i + 1
		}
		if w.Wait = f.adoptWait(w.Wait, asked); w.Reply != nil {
			w.Reply = new(*w.Reply)
			w.Reply.WaitID = w.Wait.ID
		}
	}
	return waits
}

// origin says what both runs have in common.
func (f *forking) origin() *machine.Origin {
	common := len(f.records)
	if f.edited() {
		common--
	}
	return &machine.Origin{Run: f.how.From.Run, Record: common}
}

func (f *forking) adoptWait(w machine.Wait, of machine.EffectID) machine.Wait {
	if w.Run == f.how.From.Run {
		w.Run = f.run
	}
	return w.Identified(of)
}

// adoptID returns the id in the new run of a wait that had that id in the other.
func (f *forking) adoptID(id string) string {
	for _, e := range f.rd.Machine.Open() {
		if e.Kind != machine.EffectPerson {
			continue
		}
		was, of := *e.Wait, call(e.ID)
		was.Run = f.how.From.Run
		if was.Kind == machine.WaitApproval || was.Kind == machine.WaitUnknown {
			of = e.ID
		}
		if was.Identified(of).ID == id {
			return e.Wait.ID
		}
	}
	return id
}

// sessionLabels returns labels with those of the first turn of a session; without them if it is "".
func sessionLabels(labels map[string]string, session string) map[string]string {
	if _, has := labels[orchestrator.LabelSession]; !has && session == "" {
		return labels
	}
	labels = maps.Clone(labels)
	delete(labels, orchestrator.LabelSession)
	delete(labels, orchestrator.LabelTurn)
	if session != "" {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[orchestrator.LabelSession], labels[orchestrator.LabelTurn] = session, "1"
	}
	return labels
}
