package coverage

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/strategy"
)

// Table is what was counted of one table, at one time. It shares nothing with the Coverage but the
// table, which is read-only.
type Table struct {
	Table      *strategy.Table
	Strategies []string // the names of the strategies with this table, sorted
	States     []State  // in declared order
	Moves      []Taken  // all transitions of the table, in declared order
	Strays     []Taken  // moves that no rule of the table allows, sorted; see [Table.Missing]
}

// State is a state of a table.
type State struct {
	Name  strategy.State
	Times int64 // how often a transition led to it; for the initial state, how often one led away
}

// Taken is a transition.
type Taken struct {
	Move
	Times int64 // how often it was taken
}

// Tables returns what was counted of each table, sorted by its name. Tables that are declared alike
// are one table.
func (c *Coverage) Tables() []Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(c.tallies), func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.fingerprint, b.fingerprint))
	})
	tables := make([]Table, len(ids))
	for i, id := range ids {
		tables[i] = c.tallies[id].read()
	}
	return tables
}

// Of returns what was counted of this table. If no strategy has it, nothing was.
func (c *Coverage) Of(t *strategy.Table) Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.tallies[identityOf(t)]; n != nil {
		return n.read()
	}
	return newTally(t).read()
}

// read copies what was counted. Coverage.mu must be held.
func (n *tally) read() Table {
	t := Table{Table: n.table, Strategies: slices.Sorted(maps.Keys(n.strategies))}
	times := map[strategy.State]int64{}
	for m := range movesOf(n.table) {
		taken := n.moves[m].Load()
		t.Moves = append(t.Moves, Taken{m, taken})
		times[m.To] += taken
		if m.From == n.table.Initial {
			times[m.From] += taken
		}
	}
	for _, s := range n.table.States {
		t.States = append(t.States, State{s.Name, times[s.Name]})
	}
	for m, taken := range n.strays {
		t.Strays = append(t.Strays, Taken{m, taken})
	}
	slices.SortFunc(t.Strays, func(a, b Taken) int {
		return cmp.Or(strings.Compare(string(a.From), string(b.From)), strings.Compare(string(a.To), string(b.To)), strings.Compare(string(a.On), string(b.On)))
	})
	return t
}

// Missing returns the transitions that were never taken, in declared order; nil if there are none.
// Strays are no transitions: they are the moves of a method that moved twice, of a strategy that
// tells other states than its machine, and of an older version of the table.
func (t Table) Missing() (missing []Move) {
	for _, m := range t.Moves {
		if m.Times == 0 {
			missing = append(missing, m.Move)
		}
	}
	return missing
}

// MissingStates returns the states that were never entered, in declared order; nil if there are
// none.
func (t Table) MissingStates() (missing []strategy.State) {
	for _, s := range t.States {
		if s.Times == 0 {
			missing = append(missing, s.Name)
		}
	}
	return missing
}

// Share returns how many of the transitions were taken, from 0 to 1. It is 1 for a table without
// any. If all transitions were taken, all states were entered.
func (t Table) Share() float64 {
	if len(t.Moves) == 0 {
		return 1
	}
	return float64(len(t.Moves)-len(t.Missing())) / float64(len(t.Moves))
}
