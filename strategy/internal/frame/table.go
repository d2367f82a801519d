package frame

import (
	"slices"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// The states of every strategy; Limited is optional.
const (
	Ready   strategy.State = "ready"
	Done    strategy.State = "done"
	Limited strategy.State = "limited" // an error because no step is left, with the work done so far
	Failed  strategy.State = "failed"
)

// Failing is the trigger that leads to Failed from every state but those in which nothing fails.
const Failing strategy.Trigger = "failed"

// In returns the states that a rule starts from.
func In(states ...strategy.State) []strategy.State { return states }

// Table returns the table of a strategy. Its own states are between Ready and the final ones, and
// its own rules are before those of Failing, which there are none of in the states in which nothing
// fails. Limited is one of the final states if a rule leads to it.
func Table(name string, own []strategy.StateRule, rules []strategy.Rule, unfailing ...strategy.State) *strategy.Table {
	t := &strategy.Table{Name: name, Initial: Ready, States: slices.Concat([]strategy.StateRule{{Name: Ready}}, own), Rules: slices.Clone(rules)}
	var from []strategy.State
	for _, s := range t.States {
		if !slices.Contains(unfailing, s.Name) {
			from = append(from, s.Name)
		}
	}
	t.Rules = append(t.Rules, strategy.Rule{From: from, On: Failing, To: Failed})
	t.States = append(t.States, strategy.StateRule{Name: Done, Awaits: nextstep.KindComplete})
	if slices.ContainsFunc(rules, func(r strategy.Rule) bool { return r.To == Limited }) {
		t.States = append(t.States, strategy.StateRule{Name: Limited, Awaits: nextstep.KindReportError})
	}
	t.States = append(t.States, strategy.StateRule{Name: Failed, Awaits: nextstep.KindReportError})
	return t
}
