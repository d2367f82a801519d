package strategy

import (
	"fmt"

	"github.com/looplab/fsm"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
)

// FSM is the state machine of one frame. It is not safe for concurrent use, and needs none: a strategy is called from
// one goroutine at a time.
//
// looplab/fsm holds the state and judges every trigger. Its Event is not called: it makes a context, an event and a
// closure for callbacks that there are none of, and those are what can wedge its machine. The next state is the one that
// the table names; a test holds that against Event, for random tables.
type FSM struct {
	table   *Table
	rules   *compiled
	machine *fsm.FSM
	state   State
	exits   []exit // of state
	found   *exit  // the last one that was asked for, and allowed: Can is often asked before Then
	left    []int  // of each cap; Unbounded counts nothing
	broken  error  // the table or its caps are wrong: every trigger is refused with this
}

// New returns a machine in the initial state. A value must be given for each cap that the rules name. New itself never
// fails: a machine of an invalid table, or with the wrong caps, refuses every trigger and says why. Check tables in a
// test, with [Table.Validate].
func (t *Table) New(caps Caps) *FSM {
	c := t.compile()
	f := &FSM{table: t, rules: c, state: t.Initial, exits: c.exits[t.Initial], broken: c.err}
	if f.broken == nil {
		f.left, f.broken = c.allot(t.Name, caps)
	}
	if f.broken == nil {
		f.machine = c.machine(t.Initial)
	}
	return f
}

// allot returns the value of each cap by its index.
func (c *compiled) allot(table string, caps Caps) ([]int, error) {
	if len(c.caps) == 0 && len(caps) == 0 {
		return nil, nil
	}
	left := make([]int, len(c.caps))
	for i, name := range c.caps {
		n, ok := caps[name]
		if !ok || n < Unbounded {
			return nil, &TableError{Table: table, Problem: fmt.Sprintf("cap %q needs a value, zero or more, or Unbounded", name)}
		}
		left[i] = n
	}
	if len(caps) > len(c.caps) {
		return nil, &TableError{Table: table, Problem: fmt.Sprintf("was given caps %v, and its rules name only %v", caps, c.caps)}
	}
	return left, nil
}

// State returns the current state.
func (f *FSM) State() State { return f.state }

// Can reports whether on is allowed now: there is a rule for it here and its cap is not used up.
func (f *FSM) Can(on Trigger) bool {
	_, err := f.target(on)
	return err == nil
}

// Then fires the trigger and returns the step, which must be of the kind that the new state awaits. If the trigger is not
// allowed here, its cap is used up, or the step is of another kind, the state stays as it was and the step returned is a
// [nextstep.ReportError] with a [*TransitionError] or a [*CapError].
func (f *FSM) Then(on Trigger, step nextstep.NextStep) nextstep.NextStep {
	to, err := f.target(on)
	if err != nil {
		return refused(err)
	}
	if step == nil || step.Kind() != to.awaits {
		return refused(&TransitionError{Table: f.table.Name, State: f.state, Trigger: on, To: to.to, Want: to.awaits, Step: step})
	}
	f.machine.SetState(string(to.to))
	f.state, f.exits, f.found = to.to, to.exits, nil
	if to.caps >= 0 && f.left[to.caps] > 0 {
		f.left[to.caps]--
	}
	if to.awaits.Final() { // nothing leads out of it
		f.rules.idle.Put(f.machine)
		f.machine = nil
	}
	return step
}

// target finds where on leads from here, if it may be taken.
func (f *FSM) target(on Trigger) (*exit, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	if f.found == nil || f.found.on != on {
		f.found = f.exit(on)
	}
	to := f.found
	if to == nil {
		return nil, &TransitionError{Table: f.table.Name, State: f.state, Trigger: on}
	}
	if to.caps >= 0 && f.left[to.caps] == 0 {
		return nil, &CapError{Table: f.table.Name, State: f.state, Trigger: on, Cap: f.rules.caps[to.caps]}
	}
	return to, nil
}

// exit returns where on leads from here, if looplab/fsm allows it.
func (f *FSM) exit(on Trigger) *exit {
	for i := range f.exits {
		if to := &f.exits[i]; to.on == on && f.machine.Can(string(on)) {
			return to
		}
	}
	return nil
}

func refused(err error) nextstep.NextStep {
	code := delegation.CodeDefect
	if _, ok := err.(*CapError); ok { //nolint:errorlint // made just above, never wrapped
		code = delegation.CodeLimit
	}
	return nextstep.ReportError{Err: delegation.NewError(code, err)}
}

// TransitionError says that a strategy did what its table forbids: a trigger without a rule, or a step that is not of the
// kind that the next state awaits. It is a defect of the strategy, or a call out of turn.
type TransitionError struct {
	Table   string
	State   State // where it stands, and stays
	Trigger Trigger
	To      State             // the next state, where the step was of the wrong kind
	Want    nextstep.Kind     // what To awaits
	Step    nextstep.NextStep // what it was given
}

// Error names the state, the trigger, and what was wrong.
func (e *TransitionError) Error() string {
	if e.To == "" {
		return fmt.Sprintf("strategy: table %q: trigger %q has no rule in state %q", e.Table, e.Trigger, e.State)
	}
	got := "no step"
	if e.Step != nil {
		got = e.Step.Kind().String()
	}
	return fmt.Sprintf("strategy: table %q: trigger %q in state %q leads to %q, which awaits %s, not %s",
		e.Table, e.Trigger, e.State, e.To, e.Want, got)
}

// CapError says that a rule was taken as often as its cap allows.
type CapError struct {
	Table   string
	State   State // where it stands, and stays
	Trigger Trigger
	Cap     string
}

// Error names the cap, the state and the trigger.
func (e *CapError) Error() string {
	return fmt.Sprintf("strategy: table %q: cap %q is used up: trigger %q refused in state %q", e.Table, e.Cap, e.Trigger, e.State)
}
