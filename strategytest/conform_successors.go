package strategytest

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// ended is a strategy that is done at once, for those that the subject hands off to.
type ended struct{ strategy.Defaults }

// Initialize implements strategy.Strategy.
func (ended) Initialize(in delegation.Input) nextstep.NextStep {
	return nextstep.Complete{Output: delegation.Output{Messages: in.Messages, Result: &in.Goal}}
}

// withSuccessors adds to a set the strategies that a strategy names as its successors, each done at
// once.
func withSuccessors(set strategy.Set, of strategy.Strategy) strategy.Set {
	for _, name := range strategy.NamesOf(of).Handoffs {
		if set[name] == nil {
			set[name] = func() strategy.Strategy { return ended{} }
		}
	}
	return set
}
