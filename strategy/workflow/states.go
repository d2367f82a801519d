package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/internal/frame"
)

// The states of a Parallel; those of the other compositions are their parts.
const (
	working     strategy.State = "working"      // the parts, at the same time; then "retrying_1" and so on, those that are run again
	fallingBack strategy.State = "falling_back" // the Fallbacks of parts that failed
)

// The triggers name what happened. A function, and a choice, has one of its own.
const (
	started   strategy.Trigger = "started"
	retried   strategy.Trigger = "retried"   // a part failed, and is run again
	fellBack  strategy.Trigger = "fell_back" // a part failed, and its Fallback is run instead
	passed    strategy.Trigger = "passed"    // the next part of a Sequence begins
	reduced   strategy.Trigger = "reduced"   // one result is made of those of a Parallel
	repeated  strategy.Trigger = "repeated"  // a round of a Loop is over
	submitted strategy.Trigger = "submitted" // the judge has to judge
	rejected  strategy.Trigger = "rejected"  // the judge has not approved
	exhausted strategy.Trigger = "exhausted" // no round is left
	finished  strategy.Trigger = "finished"
)

// taken are the triggers that no function may have the name of.
var taken = []strategy.Trigger{started, retried, fellBack, passed, reduced, repeated, submitted, rejected, exhausted, finished, frame.Failing}

// capRounds is the cap of a Loop. The cap of the retries of a part has its name.
const capRounds = "rounds"

// The state machines of examples: with a tool, retries, fallbacks, a judge, a router.
var (
	SequenceTable = tableOf(Sequence(SequenceConfig{Parts: []Part{{Name: "first", Retries: 1}, {Tool: "tool"}, {Name: "last"}}}))
	ParallelTable = tableOf(Parallel(ParallelConfig{Parts: []Part{{Name: "one", Retries: 2}, {Name: "two", Fallback: "other"}}, Reduce: &Part{}}))
	LoopTable     = tableOf(Loop(LoopConfig{Part: Part{Name: "worker"}, Judge: &Part{}}))
	ChooseTable   = tableOf(Choose(ChooseConfig{Parts: []Part{{Name: "one"}, {Name: "other"}}}))
)

func tableOf(factory func() strategy.Strategy) *strategy.Table {
	return factory().(strategy.Tabler).FSM().Table()
}

// settings is a checked and compiled Config.
type settings struct {
	frame.Settings
	kind   string
	table  *strategy.Table
	parts  []*part
	first  func(*flow) nextstep.NextStep
	next   func(*flow, *part) nextstep.NextStep // after a part; nil after those of a Parallel
	result func(*flow) (text string, data json.RawMessage, ok bool)

	together []*part          // of a Parallel
	stages   []strategy.State // in which they work
	reducer  *part
	body     *part  // of a Loop
	router   *part  // of a Choose
	choices  []Part // of a Choose

	states []strategy.StateRule
	rules  []strategy.Rule
}

func (b *settings) report(err error) { b.Err = errors.Join(b.Err, err) }

// addAll compiles the Parts of a Config.
func (b *settings) addAll(own []Part, prompt string) (parts []*part) {
	if len(own) == 0 {
		own = []Part{{}}
	}
	for _, p := range own {
		parts = append(parts, b.addNamed(p, "", prompt))
	}
	return parts
}

// addNamed compiles a Part with a default name.
func (b *settings) addNamed(own Part, name, prompt string) *part {
	if own.Name == "" {
		own.Name = name
	}
	p, err := compilePart(own, prompt)
	b.report(err)
	for _, q := range b.parts {
		switch {
		case q.Name == p.Name:
			b.report(fmt.Errorf("workflow: two parts are called %q: give one another Name", p.Name))
		case slices.ContainsFunc(p.ends(), func(state strategy.State) bool { return slices.Contains(q.ends(), state) }):
			b.report(fmt.Errorf("workflow: the parts %q and %q, or the Fallback of one, have the same state: give one another Name", q.Name, p.Name))
		}
	}
	b.parts = append(b.parts, p)
	return p
}

// add adds the states of a part, and the moves within it.
func (b *settings) add(p *part) {
	b.states = append(b.states, strategy.StateRule{Name: p.state, Awaits: p.awaits()})
	if p.Retries > 0 {
		b.caps("retries of "+p.Name, p.Retries)
		b.capped(frame.In(p.state), retried, p.state, "retries of "+p.Name)
	}
	if p.instead != "" {
		b.states = append(b.states, strategy.StateRule{Name: p.instead, Awaits: nextstep.KindDelegate})
		b.rule(frame.In(p.state), fellBack, p.instead)
	}
}

// addStages adds the states of the parts of a Parallel, each with their names as its phase.
func (b *settings) addStages() {
	add := func(state strategy.State, of func(*part) bool) bool {
		var names []string
		for _, p := range b.together {
			if of(p) {
				names = append(names, p.Name)
			}
		}
		if names == nil {
			return false
		}
		b.stages = append(b.stages, state)
		b.states = append(b.states, strategy.StateRule{Name: state, Awaits: nextstep.KindExecuteTools, Phase: strings.Join(names, ", ")})
		return true
	}
	add(working, func(*part) bool { return true })
	for n := 1; add(strategy.State(fmt.Sprint("retrying_", n)), func(p *part) bool { return p.Retries >= n }); n++ {
		b.rule(frame.In(b.stages[n-1]), retried, b.stages[n])
	}
	if before := slices.Clone(b.stages); add(fallingBack, func(p *part) bool { return p.instead != "" }) {
		b.rule(before, fellBack, fallingBack)
	}
}

func (b *settings) rule(from []strategy.State, on strategy.Trigger, to strategy.State) {
	b.capped(from, on, to, "")
}

func (b *settings) capped(from []strategy.State, on strategy.Trigger, to strategy.State, limit string) {
	b.rules = append(b.rules, strategy.Rule{From: from, On: on, To: to, Cap: limit})
}

func (b *settings) caps(name string, n int) {
	if b.Caps == nil {
		b.Caps = strategy.Caps{}
	}
	b.Caps[name] = n
}

// function checks that a function has a name, and returns its trigger.
func (b *settings) function(field string, set bool, name string) strategy.Trigger {
	switch {
	case set && !nameRule.MatchString(name):
		b.report(fmt.Errorf("workflow: %sName: %q is no name of at most 40 letters, digits, _ and -: a stored run is resumed with a function of the same name alone", field, name))
	case set && slices.Contains(taken, strategy.Trigger(name)):
		b.report(fmt.Errorf("workflow: %sName: compositions have a transition %q of their own: give the function another name", field, name))
	case !set && name != "":
		b.report(fmt.Errorf("workflow: %s is nil, and %sName is not empty", field, field))
	}
	return strategy.Trigger(name)
}

// factory makes the table, and returns the factory.
func (b *settings) factory() func() strategy.Strategy {
	b.Pkg = "workflow"
	if b.Err == nil {
		b.table = frame.Table(b.kind, b.states, b.rules)
		b.report(b.table.Validate())
	}
	if b.Err != nil { // with a table of its own it could not say what is wrong
		b.table, b.Caps = brokenTable, nil
	}
	return func() strategy.Strategy { return &flow{settings: b, Frame: frame.New(b.table, &b.Settings)} }
}

// brokenTable is that of an invalid Config.
var brokenTable = frame.Table("workflow", []strategy.StateRule{{Name: "invalid", Awaits: nextstep.KindDelegate}},
	[]strategy.Rule{{From: frame.In(frame.Ready), On: started, To: "invalid"}, {From: frame.In("invalid"), On: finished, To: frame.Done}})

// part returns the part with that name, or nil.
func (b *settings) part(name string) *part {
	for _, p := range b.parts {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Names implements strategy.Namer.
func (b *settings) Names() strategy.Names {
	names := strategy.Names{Children: []string{}}
	for _, p := range b.parts {
		names.Tools = append(names.Tools, p.Tools...)
		if p.Tool != "" {
			names.Tools = append(names.Tools, p.Tool)
		}
		for _, name := range []string{p.Strategy, p.Fallback} {
			if name != "" && !slices.Contains(names.Children, name) {
				names.Children = append(names.Children, name)
			}
		}
	}
	return names
}

// Bounds implements strategy.Bounder.
func (b *settings) Bounds() strategy.Bounds {
	said := strategy.Bounds{Offers: []string{}, Calls: map[strategy.State]int{}, Children: map[strategy.State][]strategy.Child{}}
	add := func(state strategy.State, p *part, name string) {
		if name == "" {
			said.Calls[state]++
			said.Offers = append(said.Offers, p.Tool)
			return
		}
		said.Children[state] = append(said.Children[state], strategy.Child{Strategy: name, Tools: p.Tools, Limits: p.Limits})
		if slices.Contains(b.stages, state) {
			said.Calls[state]++
		}
	}
	for _, p := range b.parts {
		if !slices.Contains(b.together, p) {
			add(p.state, p, p.Strategy)
			if p.instead != "" {
				add(p.instead, p, p.Fallback)
			}
			continue
		}
		for _, state := range b.stages[:p.Retries+1] {
			add(state, p, p.Strategy)
		}
		if p.instead != "" {
			add(fallingBack, p, p.Fallback)
		}
	}
	return said
}
