package strategy

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/looplab/fsm"

	"github.com/segue-go/segue/nextstep"
)

// State names what a strategy is waiting for, such as "awaiting_model". Declare states as
// constants.
type State string

// Trigger names what happened, such as "answered". Declare triggers as constants.
type Trigger string

// Table declares a state machine. Make it a package variable and do not change it after its first
// use; it is then safe for concurrent use.
type Table struct {
	Name    string // the name of the strategy, for diagrams and errors
	Initial State  // the state before Initialize: it awaits nothing, and no rule leads back to it
	States  []StateRule
	Rules   []Rule

	once sync.Once
	made compiled
	hash sync.Once
	sum  string // the fingerprint
}

// StateRule declares a state.
type StateRule struct {
	Name   State
	Awaits nextstep.Kind // the only kind of step that may be pending in it; Complete and ReportError make the state final
	Phase  string        // a name for people, for several states of one phase; may be empty
}

// Rule declares transitions: in each of the states From, trigger On leads to state To.
type Rule struct {
	From []State
	On   Trigger
	To   State
	Cap  string // limits how often the rule is taken in one frame; [Table.New] sets its value. "" means no limit
}

// Caps are the values of a table's caps by name: how often all rules with that cap together may be
// taken in one frame. [Unbounded] removes a cap.
type Caps map[string]int

// Unbounded as the value of a cap means no limit. The run's limits still apply.
const Unbounded = -1

// compiled is the compiled form of a table: indexes, and the declaration in the form of
// looplab/fsm.
type compiled struct {
	err    error
	states map[State]StateRule
	moves  map[move]*target
	caps   []string
	events []fsm.EventDesc
	finals map[State]*fsm.FSM // for each final state a machine that is always in it, shared by all frames that end there
	idle   sync.Pool          // of *fsm.FSM whose frames have ended: building a machine costs as much as a step
}

// machine returns a machine in the initial state.
func (c *compiled) machine(initial State) *fsm.FSM {
	if m, ok := c.idle.Get().(*fsm.FSM); ok {
		m.SetState(string(initial))
		return m
	}
	return fsm.NewFSM(string(initial), c.events, nil)
}

type move struct {
	from State
	on   Trigger
}

// target is the target of a move.
type target struct {
	to     State
	awaits nextstep.Kind // the kind that the state awaits
	caps   int           // index into compiled.caps, or -1
	final  *fsm.FSM      // the one of compiled.finals; nil if the state is not final
}

// ends makes the machines of the final states.
func (c *compiled) ends() {
	c.finals = map[State]*fsm.FSM{}
	for _, t := range c.moves {
		if !t.awaits.Final() {
			continue
		}
		if c.finals[t.to] == nil {
			c.finals[t.to] = fsm.NewFSM(string(t.to), c.events, nil)
		}
		t.final = c.finals[t.to]
	}
}

// Validate reports all errors of the table, joined: an empty name, unknown, unreachable and
// dead-end states, rules that leave a final state or return to the initial one, two rules for one
// trigger in one state, and cycles without a cap.
func (t *Table) Validate() error { return t.compile().err }

// compile checks and indexes the table, once.
func (t *Table) compile() *compiled {
	t.once.Do(func() {
		c := &t.made
		c.states, c.moves = map[State]StateRule{}, map[move]*target{}
		check := checker{table: t, compiled: c}
		check.declarations()
		check.rules()
		if len(check.problems) == 0 { // these checks need a table without other errors
			check.paths()
			check.cycles()
		}
		c.ends()
		c.err = errors.Join(check.problems...)
	})
	return &t.made
}

// checker collects the errors of a table while it fills the indexes.
type checker struct {
	table    *Table
	compiled *compiled
	problems []error
}

// report adds an error; s and t are empty if it does not concern a state or a trigger.
func (c *checker) report(s State, t Trigger, format string, args ...any) {
	where := ""
	if s != "" {
		where += fmt.Sprintf(" state %q:", s)
	}
	if t != "" {
		where += fmt.Sprintf(" trigger %q:", t)
	}
	c.problems = append(c.problems, fmt.Errorf("strategy: table %q:%s %s", c.table.Name, where, fmt.Sprintf(format, args...)))
}

func (c *checker) declarations() {
	if c.table.Name == "" {
		c.report("", "", "has no name")
	}
	for _, s := range c.table.States {
		if s.Name == "" {
			c.report("", "", "a state has no name")
		}
		if _, twice := c.compiled.states[s.Name]; twice {
			c.report(s.Name, "", "is declared twice")
		}
		c.compiled.states[s.Name] = s
		if s.Name != c.table.Initial && s.Awaits == 0 {
			c.report(s.Name, "", "awaits nothing, which only the initial state does")
		}
	}
	initial, ok := c.compiled.states[c.table.Initial]
	switch {
	case !ok:
		c.report(c.table.Initial, "", "is the initial state and not declared")
	case initial.Awaits != 0:
		c.report(c.table.Initial, "", "is the initial state and awaits %s; it must await nothing", initial.Awaits)
	}
}

func (c *checker) rules() {
	for _, r := range c.table.Rules {
		if r.On == "" {
			c.report("", "", "a rule to %q has no trigger", r.To)
		}
		if _, ok := c.compiled.states[r.To]; !ok {
			c.report(r.To, r.On, "leads to a state that is not declared")
		}
		if r.To == c.table.Initial {
			c.report(r.To, r.On, "leads back to the initial state")
		}
		if len(r.From) == 0 {
			c.report("", r.On, "a rule to %q starts from no state", r.To)
		}
		for _, from := range r.From {
			c.rule(from, r)
		}
		if len(r.From) > 0 {
			c.compiled.events = append(c.compiled.events, event(r))
		}
	}
}

func (c *checker) rule(from State, r Rule) {
	s, ok := c.compiled.states[from]
	switch {
	case !ok:
		c.report(from, r.On, "starts from a state that is not declared")
	case s.Awaits.Final():
		c.report(from, r.On, "leads out of a final state")
	}
	m := move{from, r.On}
	if _, twice := c.compiled.moves[m]; twice {
		c.report(from, r.On, "has two rules")
	}
	c.compiled.moves[m] = &target{to: r.To, awaits: c.compiled.states[r.To].Awaits, caps: c.capIndex(r.Cap)}
}

// capIndex returns the index of a cap, and adds the cap if it is new.
func (c *checker) capIndex(name string) int {
	if name == "" {
		return -1
	}
	i := slices.Index(c.compiled.caps, name)
	if i < 0 {
		i = len(c.compiled.caps)
		c.compiled.caps = append(c.compiled.caps, name)
	}
	return i
}

// paths reports states that cannot be reached from the initial state, and states from which no
// final state can be reached.
func (c *checker) paths() {
	reached := c.spread(c.table.Initial)
	for _, s := range c.table.States {
		if !reached[s.Name] {
			c.report(s.Name, "", "cannot be reached")
			continue
		}
		ends := false
		for to := range c.spread(s.Name) {
			ends = ends || c.compiled.states[to].Awaits.Final()
		}
		if !ends {
			c.report(s.Name, "", "is a dead end: no final state can be reached from it")
		}
	}
}

// spread returns the states that can be reached from a state, including itself.
func (c *checker) spread(from State) map[State]bool {
	seen := map[State]bool{from: true}
	for queue := []State{from}; len(queue) > 0; queue = queue[1:] {
		for m, t := range c.compiled.moves {
			if m.from == queue[0] && !seen[t.to] {
				seen[t.to] = true
				queue = append(queue, t.to)
			}
		}
	}
	return seen
}

// cycles reports each path without a cap by which a state can be left and entered again forever.
func (c *checker) cycles() {
	const (
		open = iota + 1
		closed
	)
	mark := map[State]int{}
	var visit func(s State)
	visit = func(s State) {
		mark[s] = open
		for _, r := range c.table.Rules { // in declared order, so that the report is deterministic
			if r.Cap != "" || !slices.Contains(r.From, s) {
				continue
			}
			switch mark[r.To] {
			case open:
				c.report(s, r.On, "closes a cycle through %q that no cap bounds", r.To)
			case 0:
				visit(r.To)
			}
		}
		mark[s] = closed
	}
	for _, s := range c.table.States {
		if mark[s.Name] == 0 {
			visit(s.Name)
		}
	}
}

func event(r Rule) fsm.EventDesc {
	src := make([]string, len(r.From))
	for i, s := range r.From {
		src[i] = string(s)
	}
	return fsm.EventDesc{Name: string(r.On), Src: src, Dst: string(r.To)}
}
