package temporal

import (
	"slices"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// stateVersion is the version of the JSON form of a State.
const stateVersion = 1

// State is what the workflow of a run knows of it: its place in the journal, and the ids of its
// open effects and waits. It is the input of the workflow and the answer of each activity.
type State struct {
	Version   int            `json:"v"`
	Namespace string         `json:"namespace,omitempty"`
	Run       string         `json:"run"`
	Records   int            `json:"records,omitempty"` // how many it knows of
	Epoch     int64          `json:"epoch,omitempty"`   // of Effects, see [orchestrator.Standing]
	Status    machine.Status `json:"status,omitempty"`  // "": effects are open
	Effects   []Effect       `json:"effects,omitempty"`
	Waits     []string       `json:"waits,omitempty"` // their ids
	Due       time.Time      `json:"due,omitzero"`    // when the run goes on by itself

	// Problem is why an activity of the run is tried again, such as a strategy that its workers do
	// not know: the run is parked until one comes that does. Only [Engine.Query] sets it.
	Problem string `json:"problem,omitempty"`
}

// Effect is an open effect of a run.
type Effect struct {
	ID   string             `json:"id"`
	Kind machine.EffectKind `json:"kind"`
	Tool string             `json:"tool,omitempty"`
	Safe bool               `json:"safe,omitempty"` // it may be performed again if nobody knows whether it was
	Cut  bool               `json:"cut,omitempty"`  // it was withdrawn: it is cut off if it is in progress

	Strategy string `json:"strategy,omitempty"` // that of its frame, if [Engine].Strategies has it
}

// ended reports whether the run has ended.
func (s *State) ended() bool { return checkpoint.Status(s.Status).Ended() }

// stateOf returns what a workflow is told of how a run stands.
func (e *Engine) stateOf(p *orchestrator.Standing) State {
	s := State{
		Version: stateVersion, Namespace: p.Key.Namespace, Run: p.Key.Run,
		Records: p.Records, Epoch: p.Epoch, Status: p.Status, Due: p.Due,
	}
	for i := range p.Effects {
		x := &p.Effects[i]
		told := Effect{ID: x.ID.String(), Kind: x.Kind, Tool: x.Call.Name, Safe: x.Safe(), Cut: slices.Contains(p.Withdrawn, x.ID)}
		if _, has := e.Strategies[x.Strategy]; has {
			told.Strategy = x.Strategy
		}
		s.Effects = append(s.Effects, told)
	}
	for i := range p.Waits {
		s.Waits = append(s.Waits, p.Waits[i].ID)
	}
	return s
}
