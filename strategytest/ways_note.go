package strategytest

import (
	"context"
	"slices"
	"sync"
	"testing/synctest"

	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy"
)

// noteKeys are the keys of the steps in which the notes of a run come, in the order of the notes;
// "" for one that does not come.
type noteKeys []string

// saying makes the notes of one run in one process: those that its journal does not have.
type saying struct {
	notes   []storyNote
	channel chan string

	mu   sync.Mutex
	keys noteKeys // nil until the first run has shown where its notes come
	made []bool
}

// newSaying returns what makes the notes of a run that goes on after these records.
func newSaying(notes []storyNote, keys noteKeys, before []machine.Record) *saying {
	s := &saying{notes: notes, keys: slices.Clone(keys), made: make([]bool, len(notes))}
	if len(notes) > 0 {
		s.channel = make(chan string, len(notes))
	}
	for _, r := range before {
		n, ok := r.(machine.Noted)
		for i := range notes {
			if ok && notes[i].text == n.Text && !s.made[i] {
				s.made[i] = true
				break
			}
		}
	}
	return s
}

// around is a middleware that makes the notes of a step before it is performed; in a batch, in its
// first call. The places are those of a run from its beginning.
func (s *saying) around(at *places, next orchestrator.Handler) orchestrator.Handler {
	return func(ctx context.Context, e machine.Effect) (nextstep.Answer, error) {
		if e.ID.Index <= 1 && s.make(keyOf(ctx), at.at(e.Frame, e.ID.Seq)) {
			synctest.Wait() // until the run has them
		}
		return next(ctx, e)
	}
}

// make makes the notes of a step, and reports whether there were any.
func (s *saying) make(key string, at place) (made bool) {
	for _, i := range s.due(key, at) {
		s.channel <- s.notes[i].text
		made = true
	}
	return made
}

// due returns the numbers of the notes that come in a step, and counts them as made.
func (s *saying) due(key string, at place) (due []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.keys == nil
	for i, note := range s.notes {
		if s.made[i] || first && !note.where.hits(at) || !first && s.keys[i] != key {
			continue
		}
		s.made[i] = true
		due = append(due, i)
		if first {
			s.notes[i].key = key
		}
	}
	return due
}

// found returns where the notes of the first run came.
func (s *saying) found() noteKeys {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make(noteKeys, len(s.notes))
	for i := range s.notes {
		keys[i] = s.notes[i].key
	}
	return keys
}

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
