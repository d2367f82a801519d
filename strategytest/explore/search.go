package explore

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategytest/coverage"
)

// exploration is an exploration in progress.
type exploration struct {
	Options
	task   delegation.Input
	config machine.Config
	nodes  []node
	seen   map[stateKey]uint8 // with the fewest odd reactions on a path to the state
	world  world
	run    walk
	report Report
	table  *coverage.Coverage                                  // of the strategy
	broken map[string]bool                                     // the laws with a violation
	cut    struct{ odd, depth, states, stalled, answers bool } // the bounds that have left something out

	stalled bool // an open effect had no reaction, when choices was last called
	asked   inquiry
	given   []pick // the reactions of the path that is walked again, if some are not of this world
	nearer  nearer
}

// node is a distinct state. It holds the last reaction of one of the shortest paths to it.
type node struct {
	parent int32
	choice choice
	depth  uint16
	odd    uint8
	steps  uint32 // a checksum of what is open, to notice that the path leads elsewhere the second time
}

// choice identifies a reaction by the index of its open effect, and its index among the reactions.
type choice struct{ effect, reaction uint16 }

// whole is the effect of a choice that concerns the whole run.
const whole = math.MaxUint16

func newExploration(factory func() strategy.Strategy, o Options) *exploration {
	o.States = cmp.Or(o.States, 100_000)
	x := &exploration{Options: o, task: o.input(), seen: map[stateKey]uint8{}, broken: map[string]bool{}}
	x.report.Exact, x.report.caps = true, o.Caps
	x.world.more, x.world.without = o.World, o.Without
	x.run.subject = o.Name
	x.config = o.config(factory, &x.run)
	x.table = coverage.New(strategy.Set{Subject: factory})
	x.run.off, x.run.tamper, x.run.most, x.run.agents = o.off, o.tamper, o.Limits, o.Agents
	return x
}

// begin explores the state after the first step.
func (x *exploration) begin() error {
	if err := x.problem(); err != nil {
		return err
	}
	if err := x.ask(); err != nil {
		return err
	}
	if law, problem := x.fit(); law != "" {
		x.violate(law, nil, problem)
		return nil
	}
	if err := x.run.start(&x.config, x.task); err != nil {
		return fmt.Errorf("explore: the strategy cannot be started: %w", err)
	}
	if !x.holds(nil) {
		return nil
	}
	x.see()
	x.report.noteEnd(&State{run: &x.run})
	d := x.asked.look(nil, 0)
	bare, _ := x.key()
	sum := x.sum(nil)
	if !x.examine(nil, bare, sum) {
		return nil
	}
	key := bare.with(d)
	x.seen[key] = 0
	x.asked.cycles.keep(key, -1, choice{}, d)
	x.nodes = append(x.nodes, node{parent: -1, steps: sum})
	return nil
}

// sum returns the checksum of the current state of the walk.
func (x *exploration) sum(path []choice) uint32 {
	sum, ok := x.run.checksum()
	if !ok {
		x.violate(lawJSON, path, x.formless())
	}
	return sum
}

// expand tries every reaction in a state. It walks to the state once for each, the second time over
// steps whose slices were scribbled on.
func (x *exploration) expand(at int32) {
	path := x.path(at)
	if !x.again(at, path, plain) {
		x.asked.cutAt(at)
		return
	}
	if x.run.m.Done() {
		return
	}
	choices := x.choices()
	if x.stalled {
		x.cut.stalled = true
		x.asked.cutAt(at)
	}
	x.nearer.from = x.run.signature()
	if x.Depth > 0 && len(path) == x.Depth {
		x.cut.depth = x.cut.depth || len(choices) > 0
		x.asked.cutAt(at)
		return
	}
	choices = x.bearable(at, choices)
	for i, c := range choices {
		way := plain
		if i == 1 {
			way = scribbled
		}
		if i > 0 && !x.again(at, path, way) {
			x.asked.cutAt(at)
			return
		}
		if x.try(at, path, c); len(x.report.Violations) >= mostViolations {
			return
		}
	}
}

// bearable returns the choices that do not exceed the bound of odd reactions.
func (x *exploration) bearable(at int32, choices []choice) []choice {
	if x.Odd == 0 || int(x.nodes[at].odd) < x.Odd {
		return choices
	}
	all := len(choices)
	kept := slices.DeleteFunc(choices, func(c choice) bool { return x.reaction(c).Odd })
	if len(kept) < all {
		x.cut.odd = true
		x.asked.cutAt(at)
	}
	return kept
}

// finish completes the report.
func (x *exploration) finish() {
	x.report.States = x.states()
	x.report.Exhausted = !x.cut.states && !x.cut.answers && len(x.report.Violations) == 0
	var bounds []string
	if x.cut.odd {
		bounds = append(bounds, counted(x.Odd, "odd reaction")+" a path")
	}
	if x.cut.depth {
		bounds = append(bounds, counted(x.Depth, "reaction")+" a path")
	}
	if x.cut.states {
		bounds = append(bounds, counted(x.States, "state"))
	}
	if x.cut.stalled {
		bounds = append(bounds, "effects whose reactions were all left out")
	}
	if x.cut.answers {
		bounds = append(bounds, "the answers to the queries")
	}
	x.report.Bounds = strings.Join(bounds, ", ")
	for _, t := range x.table.Tables() {
		for _, m := range t.Missing() {
			x.report.Unreached = append(x.report.Unreached, m.String())
		}
	}
	x.findGap()
}

// findGap sets the gap of the report. Where a law was broken, or the queries were answered, nothing
// was to be reached any more.
func (x *exploration) findGap() {
	r := &x.report
	if len(r.Violations) > 0 || x.cut.answers || slices.Contains(x.Unreached, "*") {
		return
	}
	left := slices.DeleteFunc(slices.Clone(r.Unreached), func(m string) bool { return slices.Contains(x.Unreached, m) })
	switch {
	case r.atOnce != "":
		r.gap = "nothing was explored: the run ends at once: " + r.atOnce
	case r.Paths == 0:
		r.gap = "nothing was explored: there is no reaction to the first step"
	case len(left) > 0 && !x.cut.states && !x.cut.depth:
		r.gap = fmt.Sprintf("nothing led to: %s; let Options.World answer what leads there, or name it in Options.Unreached", strings.Join(left, "; "))
	}
}

// counted returns a number with the name of the things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// states returns the number of distinct states. If some strategy does not report its memory, every
// node counts as a state.
func (x *exploration) states() int {
	if x.report.Exact {
		return len(x.seen)
	}
	return len(x.nodes)
}

// choices returns everything that can happen in the current state of the walk.
func (x *exploration) choices() []choice {
	var all []choice
	x.stalled = false
	for i := range x.run.open {
		before := len(all)
		for r := range x.world.reactions(&x.run.open[i], x.run.ending(i)) {
			all = append(all, choice{uint16(i), uint16(r)}) //nolint:gosec // few effects are open at once
		}
		x.stalled = x.stalled || len(all) == before
	}
	for r, reaction := range x.world.always() {
		if reaction.Name == noteReaction && x.run.notes.said >= x.Notes {
			continue
		}
		all = append(all, choice{whole, uint16(r)}) //nolint:gosec // there are five
	}
	return all
}

// try tries a reaction in the current state of the walk, and keeps the new state.
func (x *exploration) try(at int32, path []choice, c choice) {
	x.report.Paths++
	path = append(slices.Clip(path), c)
	r := x.reaction(c)
	isOdd := x.Odd > 0 && r != nil && r.Odd
	if err := x.run.react(r, c); r != nil && r.own && err != nil && !errors.Is(err, errGone) {
		x.world.refused(x, r, err)
		return
	} else if err != nil {
		x.violate(lawTaken, path, err.Error())
		x.asked.cutAt(at)
		return
	}
	if !x.holds(path) {
		x.asked.cutAt(at)
		return
	}
	x.see()
	d := x.asked.look(path, x.asked.cycles.of(at))
	bare, exact := x.key()
	key := bare.with(d)
	x.report.Exact = x.report.Exact && exact
	odd := x.nodes[at].odd
	if isOdd {
		odd++
	}
	fewest, seen := x.seen[key]
	known := seen && exact && fewest <= odd
	if known {
		x.asked.cycles.join(at, key, c)
	}
	if first := x.isFirst(path, r.Name); known && !first {
		x.endsRestored(at, path, bare)
		return
	}
	if isNew := !seen || !exact; isNew && x.states() >= x.States {
		x.cut.states = true
		x.asked.cut(d)
		return
	}
	sum := x.sum(path)
	if !x.examine(path, bare, sum) {
		x.asked.cutAt(at)
		return
	}
	if known {
		return
	}
	x.seen[key] = odd
	x.asked.cycles.keep(key, at, c, d)
	depth := x.nodes[at].depth + 1
	x.report.Depth = max(x.report.Depth, int(depth))
	x.nodes = append(x.nodes, node{parent: at, choice: c, depth: depth, odd: odd, steps: sum})
}

// see shows the current state of the walk, and counts the moves that led to it.
func (x *exploration) see() {
	for i := range x.run.events {
		if d, ok := x.run.events[i].Detail.(machine.StateChanged); ok && d.Strategy == Subject {
			x.table.Add(x.run.events[i])
		}
	}
	if x.See != nil {
		x.See(&State{run: &x.run})
	}
}

// path returns the reactions that lead to a node.
func (x *exploration) path(at int32) []choice {
	path := make([]choice, x.nodes[at].depth)
	for i := len(path) - 1; i >= 0; i-- {
		path[i], at = x.nodes[at].choice, x.nodes[at].parent
	}
	return path
}

// reaction returns the reaction of a choice in the current state of the walk.
func (x *exploration) reaction(c choice) *Reaction {
	if c.effect == whole {
		return &x.world.always()[c.reaction]
	}
	if int(c.effect) >= len(x.run.open) {
		return nil
	}
	list := x.world.reactions(&x.run.open[c.effect], x.run.ending(int(c.effect)))
	if int(c.reaction) >= len(list) {
		return nil
	}
	return &list[c.reaction]
}

// reactionAt returns the reaction with the given index of a path, in the current state of the walk.
func (x *exploration) reactionAt(path []choice, i int) *Reaction {
	if i < len(x.given) {
		return x.given[i].reaction
	}
	return x.reaction(path[i])
}

// violate reports a violation, once for each law.
func (x *exploration) violate(law string, path []choice, problem string) {
	if x.broken[law] || law == x.off {
		return
	}
	x.broken[law] = true
	x.report.Violations = append(x.report.Violations, Violation{Law: law, Problem: problem, Path: x.named(path)})
}

// named returns the names of the reactions of a path, with the ids of their effects.
func (x *exploration) named(path []choice) []string {
	var names []string
	if x.run.start(&x.config, x.task) != nil {
		return nil
	}
	for _, c := range path {
		r := x.reaction(c)
		if r == nil {
			return append(names, "?")
		}
		names = append(names, x.run.name(r, c))
		if x.run.react(r, c) != nil {
			break
		}
	}
	return names
}
