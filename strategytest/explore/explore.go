// Package explore tries everything that the world can answer to a strategy, breadth-first, on the
// real code: a [machine.Machine] runs the strategy, and the explorer plays the world. In every
// state it holds the strategy, and the Machine, to laws. Package strategytest wraps [Run] for
// tests.
//
// # States
//
// Two paths that lead to the same state are continued once. A state is: the live frames with their
// strategies, the positions of their machines and their memories; the open effects, and the results
// of calls whose batch is not over; what is left of the limits; whether a frame must end; whether
// text from outside was read. [LeftOut] says what a state does not hold.
//
// The memory of a strategy is what its Snapshot returns. A strategy that is no
// [strategy.Snapshotter] has each path as a state of its own, and [Report].Exact is false.
//
// # Laws
//
// Most laws are checked after each reaction: steps and requests are valid, the step fits the state
// of the table, no limit is passed, no failure becomes a success without a result, a stop ends the
// run. Others are dear, and are checked in each new state, for the first reaction of each name to
// strategies in the same states, and on some longer walks: methods that are called out of turn,
// Snapshot and Restore, steps that change after they were returned, arguments that are written to,
// moves that no rule of the table allows, failures for ever, answers that do not fit. A [Violation]
// names its law.
package explore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// Options say in what world [Run] explores a strategy. The zero value is a world without tools and
// other strategies.
type Options struct {
	Name       string                    // of the strategy in stories and predicates; "" means "subject"
	Input      delegation.Input          // the task; without a goal, messages (nil) and data, the goal is "a task"
	Tools      []tools.Definition        // tools of the run
	Agents     map[string]*machine.Agent // the agents among the Tools, by name
	Strategies strategy.Set              // strategies that it delegates to, or that agents name; they are run, and explored with it
	Children   []string                  // strategies that it delegates to, or agents that it calls; they are answered, not run. Run finds those that are not named
	Approve    machine.ApprovalPolicy    // see machine.Config
	Limits     delegation.Limits         // of the run; zero fields mean no limit, but 32 for the depth
	Repeats    int                       // see machine.Config: 0: 2; negative: a model may make the same call any number of times
	Caps       int                       // lowers each cap of the strategies' machines to this, as what happens three times is not new; 0: as they are

	// World returns what the world may do to an effect, besides what it always may: a model calls
	// each tool that it is offered, but only the first two with all kinds of calls. The reactions
	// have names that no other reaction to the effect has, and are the same for the same effect;
	// Run refuses others. May be nil.
	World func(e *machine.Effect) []Reaction

	// Without leaves out a reaction that the world would otherwise have to an effect, by its name;
	// the effect is nil for those that concern the whole run. May be nil.
	Without func(e *machine.Effect, reaction string) bool

	// See is called in the first state and after each reaction that was tried, violations aside.
	// The State is valid until See returns. May be nil.
	See func(*State)

	// Odd and Depth bound what is explored: at most so many odd reactions, and so many reactions of
	// any kind, are on one path. 0 means no bound. With Odd 2 everything that the world can answer
	// is tried, and everything after it, wherever a run with ordinary answers can come.
	Odd   int
	Depth int

	// Notes bounds what somebody says to the run while it is at work: at most so many notes are on
	// one path, one in each state. 0 means none.
	Notes int

	States int // ends the exploration: most distinct states; 0: 100,000

	// Unreached are moves of the strategy's table that nothing need lead to, as [Report].Unreached
	// has them; "*": all of them, and the run may end at once. See [Report.Gap].
	Unreached []string

	Queries       []Query // questions about the strategy, see CanReach, Never and Leads
	UntilAnswered bool    // end as soon as the answers to all Queries are certain

	off    string                                 // the law that is not checked, in tests of the laws
	tamper func(*machine.Machine, *machine.Ready) // changes what a Machine hands over, in tests of the laws
}

// LeftOut says what a state does not hold, so that paths that differ in nothing else lead to the
// same state.
const LeftOut = "numbers of steps, names of frames, usage and time; of limits on tokens, what is left above 100; " +
	"what a person replied, but for an approval; the last request of each frame; " +
	"of each conversation in a strategy's memory all but the kinds of the last two messages and the calls in them; " +
	"of how long requests were (rate and measured in a field compact), all but the number of binary digits; " +
	"how the run and its frames were ended, but for status and code"

// Report says what an exploration has found.
type Report struct {
	States     int         // distinct states
	Paths      int         // paths that led to them: reactions that were tried
	Depth      int         // reactions on the longest path to a new state
	Bounds     string      // the bounds of the Options that have left something out, for people; "" if none has
	Exhausted  bool        // everything within the bounds was tried: neither States nor a violation ended it
	Exact      bool        // every strategy is a strategy.Snapshotter; otherwise each path to one that is not is a state of its own
	Violations []Violation // of laws; those with the shortest paths first, at most one for each law
	Results    []Result    // of the Queries, in their order
	Unreached  []string    // moves of the strategy's table that no path has taken, such as "asking -> acting on called"
	Assumed    []string    // agents that the strategy calls or delegates to, and that no Options name; they were answered like Children

	gap    string // see Gap
	caps   int    // Options.Caps
	atOnce string // how the run ended, if it ends before anything can happen to it
}

// String says how much was explored, in one line.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d paths to %d states, at most %d reactions long; ", r.Paths, r.States, r.Depth)
	if r.Exhausted {
		b.WriteString("exhausted")
	} else {
		b.WriteString("not exhausted")
	}
	if r.Bounds != "" {
		b.WriteString(" within " + r.Bounds)
	}
	if !r.Exact {
		b.WriteString("; a strategy is no Snapshotter, so each path to it counts as a state")
	}
	if r.caps > 0 {
		fmt.Fprintf(&b, "; caps of tables were at most %d", r.caps)
	}
	if r.atOnce != "" {
		b.WriteString("; the run ends at once: " + r.atOnce)
	}
	if len(r.Assumed) > 0 {
		b.WriteString("; answered as agents: " + strings.Join(r.Assumed, ", "))
	}
	fmt.Fprintf(&b, "; %d violations", len(r.Violations))
	return b.String()
}

// Gap says why an exploration without violations proves little: the run ends at once, or nothing
// leads to some moves of the strategy's table, though no bound of states or of depth was reached.
// It is "" if there is no gap, or if Options.Unreached asks for it.
func (r *Report) Gap() string { return r.gap }

// noteEnd notes how a run ends before anything can happen to it.
func (r *Report) noteEnd(first *State) {
	if !first.Done() {
		return
	}
	r.atOnce = first.String()
	if err := first.Output().Err; err != nil {
		r.atOnce += ": " + err.Message
	}
}

// Violation is a law that was broken, with one of the shortest paths to it.
type Violation struct {
	Law     string   // the law, by its name
	Problem string   // what happened
	Path    []string // the reactions that lead to it, as [Walk] takes them
	Story   string   // a script for strategytest.Stories that fails as long as the law is broken, see [Story]

	again bool // a walk has shown it once more
}

// Error returns the violation in one line.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s: after [%s]: %s", v.Law, strings.Join(v.Path, ", "), v.Problem)
}

// mostViolations is how many violations are looked for.
const mostViolations = 5

// problem says which bound is below 0, which factory is nil, and which query has no predicate; nil
// if none.
func (o *Options) problem() error {
	for _, bound := range []struct {
		name string
		n    int
	}{{"Odd", o.Odd}, {"Depth", o.Depth}, {"Notes", o.Notes}, {"States", o.States}, {"Caps", o.Caps}} {
		if bound.n < 0 {
			return fmt.Errorf("explore: Options.%s is %d: it must be 0 or more", bound.name, bound.n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Strategies)) {
		if o.Strategies[name] == nil {
			return fmt.Errorf("explore: Options.Strategies: the factory of %q is nil", name)
		}
	}
	if o.Strategies[Subject] != nil || slices.Contains(o.Children, Subject) {
		return fmt.Errorf("explore: the name %q is that of the strategy that is explored: give the other one another", Subject)
	}
	if at := strings.IndexFunc(o.Name, notInName); at >= 0 {
		return fmt.Errorf("explore: Options.Name is %q: stories cannot name it so, because of its %q", o.Name, o.Name[at:])
	}
	for i, q := range o.Queries {
		if q.first == nil || q.kind == leads && q.later == nil {
			return fmt.Errorf("explore: query %d of Options.Queries, %q, has no predicate", i+1, q)
		}
	}
	return nil
}

// notInName reports whether the stories have another use for a character.
func notInName(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`=()",#`, r) }

// Run explores the strategy that the factory makes, from its first step. In each state it tries
// every [Reaction] to every open effect: replies of a model, results of tools, outputs of children,
// failures, replies of people, both stops, and a crash with a resume. It ends when there is nothing
// new within the bounds of the Options, or after a few violations.
//
// The error says why the strategy cannot be started, or what is wrong with the Options.
func Run(factory func() strategy.Strategy, o Options) (*Report, error) {
	var assumed []string
	for {
		x := newExploration(factory, o)
		explored, err := x.explore()
		if l := x.run.lacks; l.name != "" && err == nil {
			if !slices.Contains(o.Children, l.name) {
				assumed = append(assumed, l.name)
			}
			if len(assumed) > mostAssumed {
				return nil, fmt.Errorf("explore: the strategy names more than %d agents that no Options name; the last is %q", mostAssumed, l.name)
			}
			l.addTo(&o)
			continue
		}
		if err != nil {
			return nil, err
		}
		x.finish()
		x.report.Assumed = slices.Compact(slices.Sorted(slices.Values(assumed)))
		x.asked.finish(explored)
		x.report.shrink(newExploration(factory, o))
		x.report.write(factory, o)
		return &x.report, nil
	}
}

// explore explores until there is nothing new, and returns how many states it has explored. It ends
// early if the strategy names an agent that is in no Options.
func (x *exploration) explore() (explored int, err error) {
	if err := x.begin(); err != nil {
		return 0, err
	}
	goesOn := func() bool {
		return len(x.report.Violations) < mostViolations && !x.asked.enough() && x.world.wrong == nil && x.run.lacks.name == ""
	}
	for ; explored < len(x.nodes) && goesOn(); explored++ {
		x.expand(int32(explored)) //nolint:gosec // States is an int that fits
	}
	if x.run.lacks.name == "" {
		x.wander()
	}
	return explored, x.world.wrong
}

// Subject is the name of the strategy that is explored, in events and frames.
const Subject = "subject"

// config returns the configuration of the runs that are explored. The factories are noted by w.
func (o *Options) config(factory func() strategy.Strategy, w *walk) machine.Config {
	set := strategy.Set{}
	for name, f := range o.Strategies {
		set[name] = lowered(f, o.Caps)
	}
	set[Subject] = lowered(factory, o.Caps)
	cfg := machine.Config{
		Strategies: w.watched(set), Tools: o.Tools, Agents: o.Agents, Remote: o.Children, Approve: o.Approve,
		Limits: unlimited(o.Limits), Repeats: o.Repeats, OnPanic: w.reportPanic,
	}
	cfg.Prepare()
	return cfg
}

// input returns the task.
func (o *Options) input() delegation.Input {
	in := o.Input
	if in.Goal == "" && in.Messages == nil && in.Data == nil {
		in.Goal = "a task"
	}
	return in
}

// unlimited turns off the limits that are zero.
func unlimited(l delegation.Limits) delegation.Limits {
	off := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	l.Depth, l.Steps, l.ModelCalls, l.ToolCalls = cmp.Or(l.Depth, 32), off(l.Steps), off(l.ModelCalls), off(l.ToolCalls)
	l.Handoffs = off(l.Handoffs)
	return l
}
