package runs

import "github.com/segue-go/segue/machine"

// approvals are the calls of a run that somebody approved, each with the place of the record that
// says so.
type approvals map[machine.EffectID]int

// noteReply notes a record by which somebody approves a call. The record was not applied yet.
func (a approvals) noteReply(m *machine.Machine, rec machine.Record, place int) {
	r, ok := rec.(machine.Replied)
	if !ok || !r.Reply.Approve {
		return
	}
	for _, e := range m.Open() {
		if e.Kind == machine.EffectPerson && e.Wait.ID == r.Reply.WaitID {
			a[call(e.ID)] = place
			return
		}
	}
}

// noteMigrated notes the calls that a Migrated says were approved, where no reply has said so. The
// record was applied.
func (a approvals) noteMigrated(rec machine.Record, place int) {
	r, ok := rec.(machine.Migrated)
	if !ok {
		return
	}
	for _, frame := range r.Snapshot.Frames {
		for i := range frame.Calls {
			id := machine.EffectID{Seq: frame.Seq, Index: i + 1}
			if c := &frame.Calls[i]; c.Approved && c.Result == nil && a[id] == 0 {
				a[id] = place
			}
		}
	}
}

// noteAllowed notes the calls of agents that a record of another process has allowed, and that the
// policy here would not allow. The record was applied.
func (a approvals) noteAllowed(m *machine.Machine, rec machine.Record, place int) {
	switch r := rec.(type) {
	case machine.Intended:
		if r.Verdict == machine.VerdictAllow && m.Unapproved(r.Effect) {
			a[r.Effect] = place
		}
	case machine.Migrated:
		for _, frame := range m.Frames() {
			if frame.Branch && a[frame.Call] == 0 && m.Unapproved(frame.Call) {
				a[frame.Call] = place
			}
		}
	}
}

// firstOpen returns the first place of the approvals of calls that have no result; 0 if there is
// none.
func (a approvals) firstOpen(m *machine.Machine) (first int) {
	for _, frame := range m.Frames() {
		for _, e := range frame.Effects {
			if at := a[e.ID]; at > 0 && (first == 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

// call is the effect that a question is about.
func call(id machine.EffectID) machine.EffectID {
	id.Wait = 0
	return id
}
