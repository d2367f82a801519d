package strategytest

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// remembers checks the law of snapshots at the last answer of a path, and at a stop after it. Call
// it for the paths that this path begins with, too. It returns the step that is pending then; nil
// if there is none.
func (e *explorer) remembers(path []answer) nextstep.NextStep {
	found := false
	s := newShadow(e.New, func(problem string) {
		if !found {
			e.report(path, "%s", problem)
		}
		found = true
	})
	if s == nil {
		return nil
	}
	s.snapshot = e.snapshot
	s.refused = func(err error) {
		if !e.NoSnapshot {
			s.report("it cannot be snapshot: " + err.Error())
		}
	}
	d, err := drive(&machine.Config{
		Strategies: withSuccessors(strategy.Set{"subject": s.strategy}, s), Tools: e.Tools, Remote: e.Children,
	}, e.Input)
	if err != nil {
		return nil // another law
	}
	for i, next := range path {
		s.idle = i < len(path)-1
		if d.m.Done() || d.answer(next) != nil {
			return nil
		}
	}
	if d.m.Done() || found {
		return nil
	}
	pending := d.pending()
	s.idle = false
	if pending.Kind() == nextstep.KindDelegate {
		text := "half of it"
		s.Inherit(delegation.Output{Result: &text, Err: &delegation.Error{Code: delegation.CodeStopped, Message: "stopped"}})
	}
	s.Conclude("stopped")
	return pending
}

// The random paths of a Snapshotter, which are longer than those that are explored.
const (
	randomPaths  = 20
	randomLength = 12
)

// wander checks the law of snapshots on random paths.
func (e *explorer) wander() {
	for seed := range uint64(randomPaths) {
		chance := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same paths in each test
		var path []answer
		for len(path) < randomLength && len(e.problems) < most {
			pending := e.remembers(path)
			if pending == nil {
				break
			}
			next := e.answers(pending)
			path = append(path, next[chance.IntN(len(next))])
		}
	}
}

// snapshotOf takes a snapshot.
type snapshotOf func(strategy.Snapshotter) (json.RawMessage, error)
