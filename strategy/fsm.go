package strategy

import (
	"fmt"

	"github.com/looplab/fsm"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
)

// FSM is the state machine of one frame. Make it with [Table.New]: the zero value refuses every
// trigger and says so. It is not safe for concurrent use, and needs none: a strategy is called from
// one goroutine at a time.
//
// looplab/fsm decides: it alone says whether a trigger is allowed, and it alone holds the state.
// The table adds what each state awaits, the caps, and where a move leads. looplab's Event is not
// called: it makes a context, an event and a closure for callbacks that there are none of, and
// those are what can wedge its machine. A test holds the moves made here against those that Event
// makes, for random tables; another changes what looplab/fsm answers, and expects this package's
// tests to fail.
type FSM struct {
	table   *Table
	machine *fsm.FSM // nil in the zero FSM
	left    []int    // of each cap; Unbounded counts nothing
	broken  error    // the table or its caps are wrong: every trigger is refused with this
}

// New returns a machine in the initial state. A value must be given for each cap that the rules
// name. New itself never fails: a machine of an invalid table, or with the wrong caps, refuses
// every trigger and says why, as [FSM.Check] does. Check tables in a test, with [Table.Validate].
func (t *Table) New(caps Caps) *FSM {
	c := t.compile()
	f := &FSM{table: t, broken: c.err}
	if f.broken == nil {
		f.left, f.broken = c.allot(t.Name, caps)
	}
	f.machine = c.machine(t.Initial)
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

// Check returns what is wrong with the table or the values of its caps: [*TableError], joined; nil
// if the machine can be used.
func (f *FSM) Check() error {
	if f == nil || f.machine == nil {
		return &TableError{Problem: "there is none: this FSM was not made by Table.New"}
	}
	return f.broken
}

// State returns the current state; "" for the zero FSM.
func (f *FSM) State() State {
	if f == nil || f.machine == nil {
		return ""
	}
	return State(f.machine.Current())
}

// Table returns the table that the machine was made from, which is read-only; nil for the zero FSM.
func (f *FSM) Table() *Table {
	if f == nil {
		return nil
	}
	return f.table
}

// Can reports whether on is allowed now: there is a rule for it here and its cap is not used up.
func (f *FSM) Can(on Trigger) bool {
	_, err := f.target(on)
	return err == nil
}

// Then fires the trigger and returns the step, which must be of the kind that the new state awaits.
// If the trigger is not allowed here, its cap is used up, or the step is of another kind, the state
// stays as it was and the step returned is a [nextstep.ReportError] with a [*TransitionError] or a
// [*CapError]; of an FSM that cannot be used at all, with what [FSM.Check] returns.
func (f *FSM) Then(on Trigger, step nextstep.NextStep) nextstep.NextStep {
	to, err := f.target(on)
	if err != nil {
		return refused(err)
	}
	if step == nil || step.Kind() != to.awaits {
		return refused(&TransitionError{Table: f.table.Name, State: f.State(), Trigger: on, To: to.to, Want: to.awaits, Step: step})
	}
	f.move(to)
	return step
}

// OutOfTurn is the answer of a method that nothing in the current state asks for: a
// [nextstep.ReportError] with a [*TransitionError] that names no trigger; of an FSM that cannot be
// used at all, with what [FSM.Check] returns. The state stays as it was. Call it before anything of
// the strategy's own is changed.
func (f *FSM) OutOfTurn() nextstep.NextStep {
	if err := f.Check(); err != nil {
		return refused(err)
	}
	return refused(&TransitionError{Table: f.table.Name, State: f.State()})
}

// move goes where a trigger leads that is allowed. The machine of a frame that has ended is for the
// next frame: one that always stands in the final state takes its place.
func (f *FSM) move(to *target) {
	if to.caps >= 0 && f.left[to.caps] > 0 {
		f.left[to.caps]--
	}
	if to.final == nil {
		f.machine.SetState(string(to.to))
		return
	}
	f.table.made.idle.Put(f.machine)
	f.machine = to.final
}

// target finds where on leads from here, if it may be taken. Whether there is a way at all,
// looplab/fsm says: the look-up behind it relies on that.
func (f *FSM) target(on Trigger) (*target, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if !f.machine.Can(string(on)) {
		return nil, &TransitionError{Table: f.table.Name, State: f.State(), Trigger: on}
	}
	to := f.table.made.moves[move{f.State(), on}]
	if to.caps >= 0 && f.left[to.caps] == 0 {
		return nil, &CapError{Table: f.table.Name, State: f.State(), Trigger: on, Cap: f.table.made.caps[to.caps]}
	}
	return to, nil
}

func refused(err error) nextstep.NextStep {
	code := delegation.CodeDefect
	if _, ok := err.(*CapError); ok { //nolint:errorlint // made just above, never wrapped
		code = delegation.CodeLimit
	}
	return nextstep.ReportError{Err: delegation.NewError(code, err)}
}

// TransitionError says that a strategy did what its table forbids: a trigger without a rule, or a
// step that is not of the kind that the next state awaits. It is a defect of the strategy, or a
// call out of turn.
type TransitionError struct {
	Table   string
	State   State             // where it stands, and stays
	Trigger Trigger           // "" for a call out of turn
	To      State             // the next state, where the step was of the wrong kind
	Want    nextstep.Kind     // what To awaits
	Step    nextstep.NextStep // what it was given
}

// Error names the state, the trigger, and what was wrong.
func (e *TransitionError) Error() string {
	if e.Trigger == "" {
		return fmt.Sprintf("strategy: table %q: a method was called out of turn, in state %q", e.Table, e.State)
	}
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
