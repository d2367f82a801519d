// Package planorder holds plans as data: their steps, what may be wrong with them, how one is
// revised, and which of its steps are next. It decides for strategy planreviseexecute, and is pure.
//
// A step says which others it waits for, by their ids, or says nothing. A step that says nothing
// waits, in a plan whose steps may run at the same time, for all steps before it.
package planorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/delegation"
)

// Plan is a list of steps in the order in which they were written. A step runs once the steps that
// it depends on are done.
type Plan struct {
	Steps   []Step `json:"steps"`
	Planned int    `json:"planned,omitempty"` // the number of steps before the plan was cut to Rules.MaxSteps; 0 if it was not cut

	// Unread lists what a plan in a text says about the order of its steps and cannot be: the step
	// is then read as if it said nothing.
	Unread []string `json:"unread,omitempty"`
}

// Done returns how many steps are done.
func (p Plan) Done() int {
	n := 0
	for _, s := range p.Steps {
		if s.Status == StepDone {
			n++
		}
	}
	return n
}

// Step is a part of the work. The model sets the first four fields; the others record its
// execution.
type Step struct {
	ID        string   `json:"id"`
	Goal      string   `json:"goal"`
	DependsOn []string `json:"depends_on,omitzero"` // ids; empty but not nil: it says that it waits for none, see Rules.Parallel
	Executor  string   `json:"executor,omitempty"`  // the strategy that works on it; "" means the usual one

	Status   StepStatus        `json:"status,omitempty"`
	Result   *string           `json:"result,omitempty"`   // of the last attempt; nil if it left none
	Attempts int               `json:"attempts,omitempty"` // how often it was worked on, including earlier plans
	Elapsed  time.Duration     `json:"elapsed,omitzero"`   // over all attempts
	Err      *delegation.Error `json:"error,omitempty"`    // why the last attempt failed
}

// Free reports whether the step says that it waits for no other.
func (s Step) Free() bool { return s.DependsOn != nil && len(s.DependsOn) == 0 }

// StepStatus is the progress of a step.
type StepStatus string

// The statuses. A step that was never begun has none.
const (
	StepDone   StepStatus = "done"
	StepFailed StepStatus = "failed"
)

// UnmarshalJSON reads a step; a plain string is its goal.
func (s *Step) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		*s = Step{}
		return json.Unmarshal(data, &s.Goal)
	}
	type plain Step
	return json.Unmarshal(data, (*plain)(s))
}

// PlanError lists everything that is wrong with a plan.
type PlanError struct{ Problems []string }

// Error lists the first few problems, for the model.
func (e *PlanError) Error() string {
	const most = 10
	text := "the plan cannot be used: " + strings.Join(e.Problems[:min(most, len(e.Problems))], "; ")
	if more := len(e.Problems) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Revise replaces the steps of the old plan that are not done by those of a plan that the model
// submitted. Done steps stay unchanged, whether the new plan names them or not; a plan that would
// change one is refused. Steps without an id get a free number. A plan that is too long is refused
// or cut, by the rules.
func (p Plan) Revise(next Plan, rules Rules) (Plan, error) {
	revised := Plan{Steps: slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Status != StepDone })}
	done := len(revised.Steps)
	if n := len(next.Steps); n > rules.MaxSteps && rules.Refuse { // checked first, because the steps may be many
		return Plan{}, &PlanError{Problems: []string{fmt.Sprintf("it has %d steps, and %d are allowed", n, rules.MaxSteps)}}
	}
	var problems []string
	cut := 0
	for i, s := range next.Steps {
		s = s.fresh(rules.Parallel)
		if !slices.Contains(rules.Executors, s.Executor) && len(rules.Executors) == 1 {
			s.Executor = "" // there is no choice
		}
		if len(revised.Steps) >= rules.MaxSteps && !rules.Refuse {
			if known, _ := find(revised.Steps[:done], s); !known {
				cut++
			}
			continue
		}
		if s.Goal == "" {
			problems = append(problems, fmt.Sprintf("step %d has no goal", i+1))
			continue
		}
		known, problem := find(revised.Steps[:done], s)
		switch {
		case problem != "":
			problems = append(problems, problem)
		case !known:
			revised.Steps = append(revised.Steps, s)
		}
	}
	revised.number()
	revised.identify()
	revised.remember(p)
	problems = append(problems, revised.check(done, rules)...)
	if len(problems) > 0 {
		return Plan{}, &PlanError{Problems: problems}
	}
	revised.Unread = next.Unread
	if cut > 0 {
		revised.Planned = len(revised.Steps) + cut
	}
	return revised, nil
}

// fresh returns a step with only the fields that the model may set.
func (s Step) fresh(parallel bool) Step {
	f := Step{ID: strings.TrimSpace(s.ID), Goal: strings.TrimSpace(s.Goal), Executor: strings.TrimSpace(s.Executor)}
	if parallel && s.DependsOn != nil {
		f.DependsOn = []string{}
	}
	for _, id := range s.DependsOn {
		f.DependsOn = append(f.DependsOn, strings.TrimSpace(id))
	}
	return f
}

// remember copies the number of attempts and their time for steps that the old plan has too, with
// the same id and goal.
func (p *Plan) remember(old Plan) {
	for i := range p.Steps {
		s := &p.Steps[i]
		if j := old.Index(s.ID); j >= 0 && s.Status != StepDone && s.Goal == old.Steps[j].Goal {
			s.Attempts, s.Elapsed = old.Steps[j].Attempts, old.Steps[j].Elapsed
		}
	}
}

// find searches the done steps for a step: by its id, or by its goal if it has no id. problem
// describes a step that would change a done step, or repeat it under another id.
func find(done []Step, s Step) (known bool, problem string) {
	for _, d := range done {
		switch {
		case s.ID == d.ID && s.Goal != d.Goal:
			return true, fmt.Sprintf("step %q is done and cannot be changed", s.ID)
		case s.ID == d.ID, s.ID == "" && s.Goal == d.Goal:
			return true, ""
		case s.Goal == d.Goal:
			return true, fmt.Sprintf("step %q is done, as %q", s.ID, d.ID)
		}
	}
	return false, ""
}

// number gives steps without an id the smallest free numbers.
func (p *Plan) number() {
	n := 0
	for i := range p.Steps {
		for p.Steps[i].ID == "" {
			n++
			if id := strconv.Itoa(n); p.Index(id) < 0 {
				p.Steps[i].ID = id
			}
		}
	}
}

// identify replaces goals of steps by their ids, where a step depends on what is no id.
func (p *Plan) identify() {
	for _, s := range p.Steps {
		for i, d := range s.DependsOn {
			at := slices.IndexFunc(p.Steps, func(other Step) bool { return other.Goal == d })
			if p.Index(d) < 0 && at >= 0 {
				s.DependsOn[i] = p.Steps[at].ID
			}
		}
	}
}

// Index returns the index of the step with that id, or -1.
func (p Plan) Index(id string) int {
	return slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == id })
}

// Rules are the rules for a plan.
type Rules struct {
	MaxSteps  int
	Refuse    bool     // refuse a plan with more steps; otherwise it is cut
	Executors []string // the executors that a step may name; if there is only one, other names stand for it
	Parallel  bool     // a step may say that it waits for none; otherwise this is as if it said nothing
}

// check returns what is wrong with a plan whose first steps are done.
func (p Plan) check(done int, rules Rules) []string {
	var problems []string
	if len(p.Steps) == done {
		problems = append(problems, "it has no steps that are still to do")
	}
	if n := len(p.Steps); n > rules.MaxSteps {
		problems = append(problems, fmt.Sprintf("it has %d steps, and %d are allowed", n, rules.MaxSteps))
		return problems // the remaining checks would take too long
	}
	for i, s := range p.Steps[done:] {
		if p.Index(s.ID) < done+i {
			problems = append(problems, fmt.Sprintf("two steps have the id %q", s.ID))
		}
		for _, d := range s.DependsOn {
			if p.Index(d) < 0 {
				problems = append(problems, fmt.Sprintf("step %q depends on %q, which is no step", s.ID, d))
			}
		}
		if s.Executor != "" && !slices.Contains(rules.Executors, s.Executor) {
			problems = append(problems, fmt.Sprintf("step %q has the executor %q, and allowed are %q", s.ID, s.Executor, rules.Executors))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if cycle := p.cycle(); cycle != nil {
		problems = append(problems, fmt.Sprintf("steps wait for each other: %s", strings.Join(cycle, " -> ")))
	}
	return problems
}

// cycle returns the ids of steps that depend on each other in a cycle, or nil. The plan must be
// valid otherwise.
func (p Plan) cycle() []string {
	able := map[string]bool{} // steps that can be done, by id
	blocked := func(id string) bool { return !able[id] }
	for range p.Steps {
		for _, s := range p.Steps {
			able[s.ID] = !slices.ContainsFunc(s.DependsOn, blocked)
		}
	}
	stuck := slices.IndexFunc(p.Steps, func(s Step) bool { return blocked(s.ID) })
	if stuck < 0 {
		return nil
	}
	var path []string
	for id := p.Steps[stuck].ID; ; {
		if at := slices.Index(path, id); at >= 0 {
			return append(path[at:], id)
		}
		path = append(path, id)
		needs := p.Steps[p.Index(id)].DependsOn
		id = needs[slices.IndexFunc(needs, blocked)]
	}
}

// Next returns the index of the first step that is not done and whose dependencies are done, or -1
// if all are done. A plan without a cycle always has one.
func (p Plan) Next() int { return slices.IndexFunc(p.Steps, p.can) }

// can reports whether a step is not done and the steps that it names are done.
func (p Plan) can(s Step) bool {
	undone := func(s Step) bool { return s.Status != StepDone }
	return undone(s) && !slices.ContainsFunc(s.DependsOn, func(id string) bool { return undone(p.Steps[p.Index(id)]) })
}

// Ready returns the indexes of the steps that may run at the same time, in their order: that of
// Next, and after it those that say for which others they wait, if these are done; at most so many.
// A step that says nothing is never together with a step before it. It is nil if all are done.
func (p Plan) Ready(most int) []int {
	var ready []int
	for i, s := range p.Steps {
		if len(ready) < max(1, most) && p.can(s) && (ready == nil || s.DependsOn != nil) {
			ready = append(ready, i)
		}
	}
	return ready
}

// Copy returns a plan that shares no memory that is written to.
func (p Plan) Copy() Plan {
	c := Plan{Steps: slices.Clone(p.Steps), Planned: p.Planned, Unread: slices.Clone(p.Unread)}
	for i := range c.Steps {
		c.Steps[i].DependsOn = slices.Clone(c.Steps[i].DependsOn)
	}
	return c
}

// WithoutResults returns a copy without the results of the steps.
func (p Plan) WithoutResults() Plan {
	c := p.Copy()
	for i := range c.Steps {
		c.Steps[i].Result = nil
	}
	return c
}

// Failures says how steps failed: the first one, and then the others with their ids.
func Failures(failed []Step) string {
	texts := []string{failed[0].Err.Message}
	for _, step := range failed[1:] {
		texts = append(texts, fmt.Sprintf("step %q failed too: %s", step.ID, step.Err.Message))
	}
	return strings.Join(texts, "\n")
}
