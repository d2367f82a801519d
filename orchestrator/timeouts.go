package orchestrator

import (
	"cmp"
	"slices"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// watchCall has the loop look when the time of a tool is over, and its grace.
func (r *run) watchCall(f *flight) {
	if c := f.running(); c != nil && f.cut == "" {
		if at, ok := c.Due(); ok {
			f.due = at.Add(max(0, r.o.runner.Grace))
			r.wakeAt(f.due)
		}
	}
}

// wakeAt sees to it that the loop looks at that time, or before. A timer that goes off too early is
// as good as one that is set anew for each call.
func (r *run) wakeAt(at time.Time) {
	r.box.open()
	switch {
	case r.timer == nil:
		r.timer = time.AfterFunc(time.Until(at), r.box.signal)
	case !r.due.IsZero() && !at.Before(r.due):
		return
	default:
		r.timer.Reset(time.Until(at))
	}
	r.due = at
}

// overdue abandons flights that did not end in their time, and stops agents at theirs. It reports
// whether a record was applied.
func (r *run) overdue() (applied bool) {
	if r.ending == stopsNow {
		r.graceForAll()
	}
	if r.due.IsZero() {
		return false
	}
	now := time.Now()
	if now.Before(r.due) {
		return false
	}
	r.now, r.due = now, time.Time{}
	for _, f := range r.dueBy(now) {
		applied = r.abandon(f) || applied
	}
	applied = r.stopAgents() || applied
	for _, f := range r.flights {
		if !f.due.IsZero() {
			r.wakeAt(f.due)
		}
	}
	for _, a := range r.agents {
		r.wakeAt(a.at)
	}
	return applied
}

// dueBy returns the flights whose time is over then, in the order of their effects.
func (r *run) dueBy(at time.Time) (due []*flight) {
	for _, f := range r.flights {
		if !f.due.IsZero() && !f.due.After(at) {
			due = append(due, f)
		}
	}
	slices.SortFunc(due, func(a, b *flight) int {
		x, y := a.effect.ID, b.effect.ID
		return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Index, y.Index), cmp.Compare(x.Wait, y.Wait))
	})
	return due
}

// graceForAll gives tools and people whose context has ended the time to return.
func (r *run) graceForAll() {
	if r.graced {
		return
	}
	r.graced = true
	for _, f := range r.flights {
		r.grace(f)
	}
}

// grace gives a flight whose context has ended its time to return. A model's client, a remote and a
// middleware are waited for as long as they take.
func (r *run) grace(f *flight) {
	if f.cut != "" {
		return
	}
	if f.effect.Kind != machine.EffectPerson && f.running() == nil {
		return
	}
	f.cut = messages.ReasonInterrupted
	r.now = time.Now()
	f.due = r.now.Add(max(0, r.o.runner.Grace))
	r.wakeAt(f.due)
}

// abandon ends a flight that does not return, and reports whether that is a record.
func (r *run) abandon(f *flight) bool {
	f.due = time.Time{}
	if f.effect.Kind == machine.EffectPerson {
		r.remove(f)
		return false
	}
	c := f.running()
	if c == nil {
		return false
	}
	reason := either(f.cut, tools.ReasonTimeout)
	r.remove(f)
	if r.dropped {
		c.Abandon(reason)
		return false
	}
	return r.land(f, nextstep.ToolResult{Output: c.Abandon(reason)}, nil)
}
