package strategytest

import (
	"strings"

	"github.com/segue-go/segue/machine"
)

// crashed writes that the process died in a step, after the steps that have no answer.
func (tr *trace) crashed(at place) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.waiting()
	tr.root.line(0, "crashed in %s", at)
}

// resumed writes the frames that are open, and prepares the pages of agents and the calls that
// continue.
func (tr *trace) resumed(open []machine.OpenFrame) {
	tr.open, tr.left = tr.left, nil // but those that ended in vain
	tr.root.line(0, "resumed")
	for _, f := range open {
		at := tr.in(f.Frame)
		p := tr.pages[at.agent]
		if f.CallID != "" {
			p.text.Reset()
			by := tr.step(parent(f.Frame), tr.agents[f.Frame].by)
			by.agents = append(by.agents, p)
		}
		state := ""
		if f.State != "" {
			state = ": " + string(f.State)
		}
		tr.root.line(strings.Count(f.Frame, ".")+1, "%s%s %s%s", p.name, at.frame, f.Strategy, state)
	}
}

// nameOf returns the name of a question in scripts: that of its call, or of its step.
func (tr *trace) nameOf(w *machine.Wait) string {
	at := tr.at(w.Frame, w.Seq)
	switch {
	case w.CallID == "":
		return at.String()
	case at.agent != "":
		return at.agent + "/" + w.CallID
	default:
		return w.CallID
	}
}
