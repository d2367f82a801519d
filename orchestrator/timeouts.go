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

// timeCall sets the deadline of a tool call.
func (r *run) timeCall(x *execution) {
	if c := x.running(); c != nil && x.cut == "" {
		if at, ok := c.Due(); ok {
			x.deadline = at.Add(max(0, r.o.runner.Grace))
			r.lookAt(x.deadline)
		}
	}
}

// lookAt makes the loop check deadlines at the given time or earlier. It does not reset a timer
// that fires too early, because that does no harm.
func (r *run) lookAt(at time.Time) {
	r.box.open()
	switch {
	case r.timer == nil:
		r.timer = time.AfterFunc(time.Until(at), r.box.signal)
	case !r.nextLook.IsZero() && !at.Before(r.nextLook):
		return
	default:
		r.timer.Reset(time.Until(at))
	}
	r.nextLook = at
}

// overdue cancels or abandons executions, and stops agents, whose time is over.
func (r *run) overdue() {
	if r.ending == stopsNow {
		r.graceForAll()
	}
	if r.nextLook.IsZero() {
		return
	}
	now := time.Now()
	if now.Before(r.nextLook) {
		return
	}
	r.now, r.nextLook = now, time.Time{}
	for _, x := range r.dueBy(now) {
		if !r.extended(x) {
			r.abandon(x)
		}
	}
	r.stopLateAgents()
	for _, x := range r.executions {
		if !x.deadline.IsZero() {
			r.lookAt(x.deadline)
		}
	}
	for _, a := range r.agents {
		r.lookAt(a.at)
	}
}

// extended moves the deadline of a call whose tool has asked a person meanwhile: a person's time is
// not the tool's. It reports whether there is time left.
func (r *run) extended(x *execution) bool {
	const pause = 100 * time.Millisecond // between looks while the tool asks
	c := x.running()
	if c == nil || x.cut != "" {
		return false
	}
	at, ok := c.Due()
	if at = at.Add(max(0, r.o.runner.Grace)); !ok || !at.After(r.now) {
		return false
	}
	x.deadline = at
	if soon := r.now.Add(pause); at.Before(soon) {
		x.deadline = soon
	}
	return true
}

// dueBy returns the executions whose time is over at the given time, in the order of their effects.
func (r *run) dueBy(at time.Time) (due []*execution) {
	for _, x := range r.executions {
		if !x.deadline.IsZero() && !x.deadline.After(at) {
			due = append(due, x)
		}
	}
	slices.SortFunc(due, func(a, b *execution) int {
		x, y := a.effect.ID, b.effect.ID
		return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Index, y.Index), cmp.Compare(x.Wait, y.Wait))
	})
	return due
}

// graceForAll starts the grace period of all tools and questions whose context has ended.
func (r *run) graceForAll() {
	if r.graced {
		return
	}
	r.graced = true
	for _, x := range r.executions {
		r.grace(x)
	}
}

// grace starts the grace period of an execution whose context has ended. There is none for clients,
// remotes and middleware: the run waits until they return.
func (r *run) grace(x *execution) {
	if x.cut != "" {
		return
	}
	if x.effect.Kind != machine.EffectPerson && x.running() == nil {
		return
	}
	x.cut = messages.ReasonInterrupted
	r.now = time.Now()
	x.deadline = r.now.Add(max(0, r.o.runner.Grace))
	r.lookAt(x.deadline)
}

// abandon ends an execution that does not return.
func (r *run) abandon(x *execution) {
	x.deadline = time.Time{}
	if x.effect.Kind == machine.EffectPerson {
		r.remove(x)
		return
	}
	c := x.running()
	if c == nil {
		return
	}
	r.box.post(mail{execution: x, answer: nextstep.ToolResult{Output: c.Abandon(cmp.Or(x.cut, tools.ReasonTimeout))}})
}

// agentDeadline is the deadline of an agent.
type agentDeadline struct {
	frame string
	at    time.Time
	tool  string
	limit time.Duration
}

// timeAgent sets the deadline of an agent that begins, or that goes on with other code, and removes
// it when the agent ends.
func (r *run) timeAgent(e *machine.Event) {
	begins := func(frame, tool string) {
		if limit := r.o.agentTimeout(tool); limit > 0 {
			late := agentDeadline{frame: frame, at: r.now.Add(limit), tool: tool, limit: limit}
			r.agents = append(r.agents, late)
			r.lookAt(late.at)
		}
	}
	switch d := e.Detail.(type) {
	case machine.FrameEntered:
		if d.After == "" { // a successor has the time that is left
			begins(e.Frame, d.Tool)
		}
	case machine.RunMigrated:
		r.agents = nil
		for _, open := range d.Open {
			begins(open.Frame, open.Tool)
		}
	case machine.FrameLeft:
		if d.Handoff == "" {
			r.agents = slices.DeleteFunc(r.agents, func(a agentDeadline) bool { return a.frame == e.Frame })
		}
	}
}

// stopLateAgents stops agents whose time is over.
func (r *run) stopLateAgents() {
	for _, a := range slices.Clone(r.agents) {
		if a.at.After(r.now) {
			continue
		}
		r.agents = slices.DeleteFunc(r.agents, func(b agentDeadline) bool { return b.frame == a.frame })
		reason := "the agent " + a.tool + " took longer than " + a.limit.String()
		_ = r.apply(machine.Stopped{At: r.now, Reason: reason, Now: true, Frame: a.frame}) // it may have ended
	}
}

// agentTimeout returns the time-out of an agent, by the name of its tool; 0: none.
func (o *Orchestrator) agentTimeout(tool string) time.Duration {
	if tool == "" {
		return 0
	}
	t, ok := o.tools.Lookup(tool)
	if !ok || machine.AgentOf(t) == nil {
		return 0
	}
	return max(0, t.Definition().Timeout)
}
