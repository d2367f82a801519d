package orchestrator

import (
	"slices"
	"time"

	"github.com/segue-go/segue/machine"
)

// agentDue is when the time of an agent is over.
type agentDue struct {
	frame string
	at    time.Time
	tool  string
	limit time.Duration
}

// watchAgent notes the time-out of an agent that begins, and forgets that of one that ends.
func (r *run) watchAgent(e *Event) {
	switch d := e.Detail.(type) {
	case FrameEntered:
		if limit := r.o.agentTimeout(d.Tool); limit > 0 {
			due := agentDue{frame: e.Frame, at: r.now.Add(limit), tool: d.Tool, limit: limit}
			r.agents = append(r.agents, due)
			r.wakeAt(due.at)
		}
	case machine.FrameLeft:
		r.agents = slices.DeleteFunc(r.agents, func(a agentDue) bool { return a.frame == e.Frame })
	}
}

// stopAgents stops those whose time is over, and reports whether that is a record.
func (r *run) stopAgents() (applied bool) {
	for _, a := range slices.Clone(r.agents) {
		if a.at.After(r.now) {
			continue
		}
		r.agents = slices.DeleteFunc(r.agents, func(b agentDue) bool { return b.frame == a.frame })
		reason := "the agent " + a.tool + " took longer than " + a.limit.String()
		if r.apply(machine.Stopped{At: r.now, Reason: reason, Now: true, Frame: a.frame}) == nil {
			applied = true
		}
	}
	return applied
}

// agentTimeout is the time-out of an agent, by the name of its tool; 0: it has none.
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
