// Package coverage counts which states and transitions of strategies' tables runs have come
// through: runs of tests, of an exploration, or of production. [Coverage.Add] takes the events of
// runs, live or from a file of events, and [Coverage.AddJournal] a whole journal. The result is
// text ([Coverage.String]), a list of what is missing ([Table.Missing]), or a diagram
// ([Table.Mermaid]). strategytest.RequireCoverage makes it a test.
package coverage

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// Move is a transition: in the state From, the trigger On leads to the state To.
type Move struct {
	From strategy.State
	On   strategy.Trigger
	To   strategy.State
}

// String returns the move as "asking -> acting on called".
func (m Move) String() string {
	on := "without a trigger"
	if m.On != "" {
		on = "on " + string(m.On)
	}
	return fmt.Sprintf("%s -> %s %s", m.From, m.To, on)
}

// Coverage counts the moves of strategies. Tables are found by the strategies of a set: make a
// Coverage with [New]. The zero Coverage knows no strategy, but others can be merged into it. All
// methods may be called concurrently.
type Coverage struct {
	named map[string]*tally // by the name of a strategy; nil for one without a table. It never changes

	mu       sync.Mutex
	tallies  map[identity]*tally // those of named, and those that were merged
	untabled map[string]bool
	unknown  map[string]bool
}

// identity tells tables apart: two that are declared alike are one.
type identity struct{ name, fingerprint string }

func identityOf(t *strategy.Table) identity { return identity{t.Name, t.Fingerprint()} }

// tally is what is counted of one table.
type tally struct {
	table *strategy.Table
	moves map[Move]*atomic.Int64 // one for each transition of the table. It never changes

	strategies map[string]bool // Coverage.mu must be held, as for strays
	strays     map[Move]int64  // moves that no rule of the table allows
}

func newTally(t *strategy.Table) *tally {
	n := &tally{table: t, moves: map[Move]*atomic.Int64{}, strategies: map[string]bool{}, strays: map[Move]int64{}}
	for m := range movesOf(t) {
		n.moves[m] = new(atomic.Int64)
	}
	return n
}

// movesOf yields the transitions of a table in declared order, each with its rule.
func movesOf(t *strategy.Table) func(yield func(Move, strategy.Rule) bool) {
	return func(yield func(Move, strategy.Rule) bool) {
		for _, r := range t.Rules {
			for _, from := range r.From {
				if !yield(Move{from, r.On, r.To}, r) {
					return
				}
			}
		}
	}
}

// New returns a Coverage of the strategies of a set, in which nothing is covered. It makes each
// strategy once, to find its table. A strategy that is no [strategy.Tabler], or whose factory
// fails, has no table, and is listed by [Coverage.Untabled].
func New(set strategy.Set) *Coverage {
	c := &Coverage{named: map[string]*tally{}}
	c.init()
	for _, name := range set.Names() {
		table := tableOf(set, name)
		if table == nil {
			c.named[name], c.untabled[name] = nil, true
			continue
		}
		c.named[name] = c.tally(table)
		c.named[name].strategies[name] = true
	}
	return c
}

// init makes the maps. c.mu must be held.
func (c *Coverage) init() {
	if c.tallies == nil {
		c.tallies, c.untabled, c.unknown = map[identity]*tally{}, map[string]bool{}, map[string]bool{}
	}
}

// tally returns what is counted of a table. c.mu must be held.
func (c *Coverage) tally(t *strategy.Table) *tally {
	id := identityOf(t)
	if c.tallies[id] == nil {
		c.tallies[id] = newTally(t)
	}
	return c.tallies[id]
}

// tableOf returns the table of a strategy, or nil.
func tableOf(set strategy.Set, name string) (table *strategy.Table) {
	defer func() {
		if recover() != nil { // a run of that strategy reports the panic
			table = nil
		}
	}()
	st, err := set.New(name)
	if err != nil {
		return nil
	}
	t, ok := st.(strategy.Tabler)
	if !ok {
		return nil
	}
	return t.FSM().Table()
}

// Add counts the move that an event describes: a machine.StateChanged of a strategy of the set. All
// other events count nothing. Events may come in any order, and from any number of runs at once. A
// move that was counted before costs two look-ups and no memory.
//
// Moves of a strategy that the set does not have are not counted; [Coverage.Unknown] lists its
// name. Events that were stored before they named the strategy are among those, under the name "".
func (c *Coverage) Add(e machine.Event) {
	d, ok := e.Detail.(machine.StateChanged)
	if !ok {
		return
	}
	n, known := c.named[d.Strategy]
	if n == nil {
		if !known {
			c.addUnknown(d.Strategy)
		}
		return
	}
	m := Move{d.From, d.On, d.To}
	if taken := n.moves[m]; taken != nil {
		taken.Add(1)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.strays[m]++
}

func (c *Coverage) addUnknown(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
	c.unknown[name] = true
}

// Merge adds what another Coverage has counted, and its tables. The other one may be of another
// set, and does not change. Add still knows only the strategies of c's own set. The order in which
// Coverages are merged changes nothing.
func (c *Coverage) Merge(other *Coverage) {
	tables, untabled, unknown := other.Tables(), other.Untabled(), other.Unknown()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
	for _, t := range tables {
		n := c.tally(t.Table)
		for _, name := range t.Strategies {
			n.strategies[name] = true
		}
		for _, m := range t.Moves {
			n.moves[m.Move].Add(m.Times)
		}
		for _, m := range t.Strays {
			n.strays[m.Move] += m.Times
		}
	}
	for _, name := range untabled {
		c.untabled[name] = true
	}
	for _, name := range unknown {
		c.unknown[name] = true
	}
}

// Untabled returns the names of the strategies without a table, sorted. Nothing is known of them.
func (c *Coverage) Untabled() []string { return c.names(func() map[string]bool { return c.untabled }) }

// Unknown returns the names of strategies in events that the set does not have, sorted.
func (c *Coverage) Unknown() []string { return c.names(func() map[string]bool { return c.unknown }) }

func (c *Coverage) names(of func() map[string]bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(of()))
}
