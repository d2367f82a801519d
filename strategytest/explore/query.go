package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/strategy"
)

// Query is a question about a strategy, which [Run] answers. [CanReach], [Never] and [Leads] make
// one.
type Query struct {
	Name string // for reports; may be empty

	kind         queryKind
	first, later Predicate
}

type queryKind string

const (
	canReach queryKind = "can reach"
	never    queryKind = "never"
	leads    queryKind = "leads"
)

// CanReach asks whether a path leads to a state in which p holds.
func CanReach(p Predicate) Query { return Query{kind: canReach, first: p} }

// Never asks whether p holds in no state.
func Never(p Predicate) Query { return Query{kind: never, first: p} }

// Leads asks whether later holds in the same state as first, or in one after it, whenever first
// holds. It does not if a run can end before, or if it can go on for ever: if reactions to effects
// lead back to a state in which later is still due. Stops, and crashes without end, are not such
// reactions, but a stopped run that ends is a run that ends: later may be [Any](…, [Stopped]).
func Leads(first, later Predicate) Query { return Query{kind: leads, first: first, later: later} }

// String returns the name and the kind.
func (q Query) String() string {
	if q.Name == "" {
		return string(q.kind)
	}
	return fmt.Sprintf("%s %q", q.kind, q.Name)
}

// Result is the answer to a [Query].
type Result struct {
	Query Query

	// Holds says that the answer is yes, as far as the strategy was explored. Only if the space was
	// exhausted is a Never that holds, or a CanReach that does not, certain.
	Holds bool

	// Path proves the answer, if a path can: to p; to an end, or round a cycle, without later. It
	// is nil otherwise, and empty if the first state proves it.
	Path    []string
	Problem string // what is at the end of the Path, if the query does not hold
	Story   string // of the Path: a script for strategytest.Stories, see [Witness]

	// Times is after how many of the reactions that were tried the predicate held; for Leads the
	// first.
	Times int

	// Undecided is how many explored states of a Leads have a bound, or the violation of a law,
	// where later was still due.
	Undecided int

	path  []choice // the Path, before it has names
	found bool
	round int // how many of the last reactions of the Path are a round
}

// String returns the answer in one line.
func (a *Result) String() string {
	var b strings.Builder
	b.WriteString(a.Query.String())
	switch {
	case !a.Holds && a.Query.kind == canReach:
		b.WriteString(": no path was found")
	case !a.Holds:
		fmt.Fprintf(&b, ": no: after [%s]: %s", strings.Join(a.Path, ", "), a.Problem)
	case a.Path != nil:
		fmt.Fprintf(&b, ": yes: after [%s]", strings.Join(a.Path, ", "))
	default:
		b.WriteString(": yes")
	}
	if a.Vacuous() {
		b.WriteString("; the first never held")
	}
	if a.Holds && a.Undecided > 0 {
		fmt.Fprintf(&b, "; undecided in %d states behind which nothing was explored", a.Undecided)
	}
	return b.String()
}

// Vacuous reports whether a [Leads] holds because the first predicate never held.
func (a *Result) Vacuous() bool { return a.Query.kind == leads && a.Holds && a.Times == 0 }

// inquiry answers the queries of an exploration.
type inquiry struct {
	x       *exploration
	results []Result
	cycles  cycles // those of Leads
	until   bool   // the exploration ends with the answers
}

// due is what a state still lacks: a bit for each Leads, by the index of the query.
type due uint64

// mostQueries is how many queries one exploration can have.
const mostQueries = 64

// ask begins an inquiry. The answers are those before the first state.
func (x *exploration) ask() error {
	if len(x.Queries) > mostQueries {
		return fmt.Errorf("explore: %d queries are too many: one exploration answers up to %d", len(x.Queries), mostQueries)
	}
	q := &x.asked
	q.x, q.until = x, x.UntilAnswered
	for _, query := range x.Queries {
		q.results = append(q.results, Result{Query: query, Holds: query.kind != canReach})
		q.cycles.wanted = q.cycles.wanted || query.kind == leads
	}
	return nil
}

// look evaluates the queries in the state that was walked to, after a path from a state with that
// due. It returns what is due now.
func (q *inquiry) look(path []choice, before due) due {
	s := &State{run: &q.x.run}
	for i := range q.results {
		a := &q.results[i]
		first := a.Query.first(s)
		if first {
			a.Times++
		}
		if a.Query.kind == leads {
			before = a.later(s, i, first, before)
			if s.Done() && before&(1<<i) != 0 {
				q.refute(a, path, "the run ends as "+s.String())
			}
			continue
		}
		if first && a.Times == 1 {
			if a.Holds = a.Query.kind == canReach; !a.Holds {
				a.Problem = "it holds"
			}
			a.path, a.found = slices.Clone(path), true
		}
	}
	return before
}

// later returns what is due after a state in which first holds or not.
func (a *Result) later(s *State, i int, first bool, before due) due {
	if first {
		before |= 1 << i
	}
	if before&(1<<i) != 0 && a.Query.later(s) {
		before &^= 1 << i
	}
	return before
}

// refute notes that a query does not hold, once.
func (q *inquiry) refute(a *Result, path []choice, problem string) {
	if a.Holds {
		a.Holds, a.Problem = false, problem
		a.path, a.found = slices.Clone(path), true
	}
}

// finish answers what only the whole exploration can tell. The first states were explored further.
func (q *inquiry) finish(explored int) {
	for at := explored; at < len(q.cycles.due); at++ {
		q.cut(q.cycles.due[at])
	}
	q.findCycles()
	for i := range q.results {
		if a := &q.results[i]; a.found {
			a.Path = append([]string{}, q.x.named(a.path)...)
		}
	}
	q.x.report.Results = q.results
}

// cutAt notes that nothing is explored behind a node.
func (q *inquiry) cutAt(at int32) { q.cut(q.cycles.of(at)) }

// cut notes that nothing is explored behind a state.
func (q *inquiry) cut(d due) {
	for i := range q.results {
		if d&(1<<i) != 0 {
			q.results[i].Undecided++
		}
	}
}

// enough reports whether the exploration may end, because every answer is certain.
func (q *inquiry) enough() bool {
	if !q.until || len(q.results) == 0 {
		return false
	}
	for i := range q.results {
		if !q.results[i].found {
			return false
		}
	}
	q.x.cut.answers = true
	return true
}

// shrink shrinks the paths of violations and answers.
func (r *Report) shrink(x *exploration) {
	for i := range r.Violations {
		v := &r.Violations[i]
		v.Path = x.shrinkViolation(v.Path, v.Law)
		if t := x.walked(v.Path, nil); t.law == v.Law {
			v.Problem, v.again = t.problem, true
		}
	}
	for i := range r.Results {
		a := &r.Results[i]
		if a.found && a.round == 0 { // a round is not shortened
			a.Path = append([]string{}, x.shrink(a.Path, reaches(a.proof))...)
		}
	}
}

// proof returns a function that says when a walk has proved the answer.
func (a *Result) proof() func(*State) bool {
	if a.Query.kind != leads {
		return a.Query.first
	}
	var d due
	return func(s *State) bool {
		d = a.later(s, 0, a.Query.first(s), d)
		return s.Done() && d != 0
	}
}

// write writes the stories of violations and answers.
func (r *Report) write(factory func() strategy.Strategy, o Options) {
	for i := range r.Violations {
		v := &r.Violations[i]
		text, err := Story(factory, o, v.Path, v.about(&o))
		v.Story = orError(text, err)
	}
	for i := range r.Results {
		if a := &r.Results[i]; a.found {
			text, err := Witness(factory, o, a.Path, a.about(&o))
			a.Story = orError(text, err)
		}
	}
}

// about describes a violation in a comment of its story.
func (v *Violation) about(o *Options) string {
	text := fmt.Sprintf("%s breaks a law that explorations check: %s.\n%s", o.name(), v.Law, v.Problem)
	if !v.again {
		text += "\nIt does not do so each time: this walk did not show it."
	}
	return text
}

// about describes an answer in a comment of its story.
func (a *Result) about(o *Options) string {
	if a.Holds {
		return fmt.Sprintf("A path of %s that shows: %s.", o.name(), a.Query)
	}
	return fmt.Sprintf("A path of %s that refutes: %s.\nAt its end: %s.", o.name(), a.Query, a.Problem)
}

// orError returns a text, or why there is none.
func orError(text string, err error) string {
	if err != nil {
		return "# There is no story: " + strings.ReplaceAll(err.Error(), "\n", " ") + "\n"
	}
	return text
}

// Predicate is something that holds in a state or not. It must depend on the state alone, and not
// on the states before it.
type Predicate func(*State) bool

// InState holds while a live frame of a strategy is in a state of its table. The explored strategy
// has the name [Options].Name.
func InState(name string, state strategy.State) Predicate {
	return func(s *State) bool {
		return slices.ContainsFunc(s.Frames(), func(f machine.FrameView) bool {
			return f.State == state && s.run.nameOf(f.Strategy) == name
		})
	}
}

// Calls holds while a call of a tool is in progress: it has been released, and has no result. The
// call of an agent is in progress while the agent is at work.
func Calls(tool string) Predicate {
	return Any(calls(func(e *machine.Effect) bool { return e.Call.Name == tool }), atWork(tool))
}

// atWork holds while an agent works on a call.
func atWork(agent string) Predicate {
	return func(s *State) bool {
		return slices.ContainsFunc(s.Frames(), func(f machine.FrameView) bool {
			return slices.ContainsFunc(f.Effects, func(e machine.EffectView) bool {
				return e.Tool == agent && e.State == "nested"
			})
		})
	}
}

// CallsApproved holds while a call of a tool is in progress that a person has approved. For an
// agent it never holds: there are [Calls] and [Asks].
func CallsApproved(tool string) Predicate {
	return calls(func(e *machine.Effect) bool { return e.Call.Name == tool && e.Approved })
}

// CallsUnapproved holds while a call of a tool is in progress that no person has approved. For an
// agent it never holds: there are [Calls] and [Asks].
func CallsUnapproved(tool string) Predicate {
	return calls(func(e *machine.Effect) bool { return e.Call.Name == tool && !e.Approved })
}

func calls(is func(*machine.Effect) bool) Predicate {
	return open(func(e *machine.Effect) bool { return e.Kind == machine.EffectTool && is(e) })
}

// Asks holds while the run waits for a person about a call of a tool, with a wait of that kind,
// such as [machine.WaitApproval].
func Asks(kind, tool string) Predicate {
	return open(func(e *machine.Effect) bool {
		return e.Kind == machine.EffectPerson && e.Wait.Kind == kind && e.Wait.Tool == tool
	})
}

func open(is func(*machine.Effect) bool) Predicate {
	return func(s *State) bool {
		list := s.Open()
		for i := range list {
			if is(&list[i]) {
				return true
			}
		}
		return false
	}
}

// Done holds if the run has ended well.
func Done(s *State) bool { return s.Done() && s.Status() == machine.StatusDone }

// Failed holds if the run has failed, or ended at a limit.
func Failed(s *State) bool {
	return s.Done() && (s.Status() == machine.StatusFailed || s.Status() == machine.StatusLimit)
}

// Stopped holds if the run was stopped, and has ended.
func Stopped(s *State) bool { return s.Done() && s.Status() == machine.StatusStopped }

// Ended holds if the run has ended.
func Ended(s *State) bool { return s.Done() }

// Not holds if p does not.
func Not(p Predicate) Predicate { return func(s *State) bool { return !p(s) } }

// All holds if all of ps do.
func All(ps ...Predicate) Predicate {
	return func(s *State) bool {
		return !slices.ContainsFunc(ps, func(p Predicate) bool { return !p(s) })
	}
}

// Any holds if one of ps does.
func Any(ps ...Predicate) Predicate {
	return func(s *State) bool {
		return slices.ContainsFunc(ps, func(p Predicate) bool { return p(s) })
	}
}

// nameOf returns the name of a strategy as the Options have it.
func (w *walk) nameOf(name string) string {
	if name == Subject && w.subject != "" {
		return w.subject
	}
	return name
}
