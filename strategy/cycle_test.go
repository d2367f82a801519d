package strategy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// mayGoRound reports whether a table can be walked for ever without a cap: whether by rules without
// one some state leads back to itself. It looks at every pair of states, over every state between.
func mayGoRound(t *strategy.Table) bool {
	leads := map[[2]strategy.State]bool{}
	for _, r := range t.Rules {
		for _, from := range r.From {
			if r.Cap == "" {
				leads[[2]strategy.State{from, r.To}] = true
			}
		}
	}
	for _, over := range t.States {
		for _, a := range t.States {
			for _, b := range t.States {
				if leads[[2]strategy.State{a.Name, over.Name}] && leads[[2]strategy.State{over.Name, b.Name}] {
					leads[[2]strategy.State{a.Name, b.Name}] = true
				}
			}
		}
	}
	for _, s := range t.States {
		if leads[[2]strategy.State{s.Name, s.Name}] {
			return true
		}
	}
	return false
}

// Validate refuses exactly the tables with a cycle that no cap bounds: over one state or several,
// in parts that only rules with a cap lead to, with rules from several states, and caps that rules
// share.
func TestTable_Validate_cycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &strategy.Table{Name: "drawn", Initial: "start", States: []strategy.StateRule{{Name: "start"}, {Name: "end", Awaits: finish}}}
		var names []strategy.State
		for i := range rapid.IntRange(1, 6).Draw(t, "states") {
			name := strategy.State(fmt.Sprint("s", i))
			names = append(names, name)
			table.States = append(table.States, strategy.StateRule{Name: name, Awaits: rapid.SampledFrom([]nextstep.Kind{chat, tools}).Draw(t, "kind")})
			table.Rules = append(table.Rules, // each can be reached, and can end, so that nothing else is wrong
				strategy.Rule{From: []strategy.State{"start"}, On: strategy.Trigger(fmt.Sprint("to ", i)), To: name},
				rule(name, "done", "end"))
		}
		for i := range rapid.IntRange(0, 10).Draw(t, "rules") {
			table.Rules = append(table.Rules, strategy.Rule{
				From: rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, len(names), rapid.ID[strategy.State]).Draw(t, "from"),
				On:   strategy.Trigger(fmt.Sprint("x", i)),
				To:   rapid.SampledFrom(names).Draw(t, "to"),
				Cap:  rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "cap"),
			})
		}
		err := table.Validate()
		if mayGoRound(table) {
			require.ErrorContains(t, err, "closes a cycle")
		} else {
			require.NoError(t, err)
		}
	})
}
