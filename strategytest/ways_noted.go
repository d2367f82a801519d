package strategytest

import (
	"slices"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// notedStates are the states of tables in which a note has come: to a frame of its own, or while
// its child or its agents work.
type notedStates struct {
	set  strategy.Set
	came map[notedState]bool
}

// notedState is a state of a strategy.
type notedState struct {
	table string
	state strategy.State
}

// runs returns copies of a run in which a note comes: each in a step in which some strategy is in a
// state that no note has come in. There are none of a run that has notes of its own or is stopped,
// and no note comes while agents work: which of them hears it first is a matter of time.
func (n *notedStates) runs(r *storyRun, p *process) (all []*storyRun) {
	if len(r.notes) > 0 || r.stop.where != "" {
		return nil
	}
	at, states, agents, branched := newPlaces(), map[string]notedState{}, map[string]bool{}, map[int]bool{}
	p.play(r, newModel(r.script))
	for e, err := range p.stream(nil) {
		if err != nil {
			break
		}
		at.event(&e)
		works := false
		switch d := e.Detail.(type) {
		case machine.FrameEntered:
			states[e.Frame] = notedState{table: n.table(d.Strategy)}
			if d.CallID != "" {
				agents[e.Frame], branched[e.Seq] = true, true
			}
		case machine.FrameLeft:
			delete(states, e.Frame)
			if d.Handoff == "" {
				delete(agents, e.Frame)
			}
		case machine.StateChanged:
			states[e.Frame] = notedState{states[e.Frame].table, d.To}
		case machine.StepTaken:
			works = d.Kind == nextstep.KindGetChatCompletion || d.Kind == nextstep.KindExecuteTools
		case machine.WaitStarted: // the run ends before its step does
			works = true
		}
		if works && len(agents) == 0 && !branched[e.Seq] && n.comes(states) {
			noted := *r
			for range 3 { // a model that hears a note is asked again
				noted.script = append(slices.Clip(noted.script), scripted.Text("Something else, then."))
			}
			noted.notes = []storyNote{{where: stop{where: at.at(e.Frame, e.Seq).String()}, text: "Something else."}}
			all = append(all, &noted)
		}
	}
	return all
}

// comes counts a note in these states, and reports whether one of them is new.
func (n *notedStates) comes(states map[string]notedState) (first bool) {
	for _, s := range states {
		if s.table != "" && !n.came[s] {
			n.came[s], first = true, true
		}
	}
	return first
}

// table returns the name of the table of a strategy; "" if it has none.
func (n *notedStates) table(name string) string {
	if factory := n.set[name]; factory != nil {
		if t, ok := factory().(strategy.Tabler); ok {
			return t.FSM().Table().Name
		}
	}
	return ""
}
