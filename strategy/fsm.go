package strategy

import (
	"errors"
	"fmt"

	"github.com/looplab/fsm"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
)

var errNoTable = errors.New(`strategy: table "": there is none: this FSM was not made by Table.New`)

// FSM is the state machine of one frame. Make it with [Table.New]: the zero value refuses every
// trigger with an error. An FSM is not safe for concurrent use. It does not need to be, because a
// strategy is called from one goroutine at a time.
//
// Package looplab/fsm decides whether a trigger is allowed, and holds the state. The table adds
// what each state awaits, the caps, and the target of each move. FSM does not call looplab's Event,
// which makes a context, an event and a closure for callbacks we never register; these can block
// its machine for good. Tests compare the moves made here with those of Event, for random tables.
// Another test changes the answers of looplab/fsm, and expects tests of this package to fail.
type FSM struct {
	table   *Table
	machine *fsm.FSM // nil in the zero FSM
	left    []int    // what is left of each cap; Unbounded counts nothing
	broken  error    // the error of the table or its caps; every trigger is refused with it
	moves   int      // rules that were taken
	last    Trigger  // of the last of them
}

// New returns a machine in the initial state. Each cap in the rules needs a value. New itself never
// fails: a machine with an invalid table or invalid caps refuses every trigger with an error, which
// [FSM.Check] also returns. Check tables in a test, with [Table.Validate].
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
			return nil, fmt.Errorf("strategy: table %q: cap %q needs a value, zero or more, or Unbounded", table, name)
		}
		left[i] = n
	}
	if len(caps) > len(c.caps) {
		return nil, fmt.Errorf("strategy: table %q: was given caps %v, and its rules name only %v", table, caps, c.caps)
	}
	return left, nil
}

// Check returns the errors of the table or of the values of its caps, joined. It returns nil if the
// machine can be used.
func (f *FSM) Check() error {
	if f == nil || f.machine == nil {
		return errNoTable
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

// Table returns the table of the machine, which is read-only, or nil for the zero FSM.
func (f *FSM) Table() *Table {
	if f == nil {
		return nil
	}
	return f.table
}

// Moves returns how many rules were taken since the machine was made. It tells a move that leads
// back to the same state from no move.
func (f *FSM) Moves() int {
	if f == nil {
		return 0
	}
	return f.moves
}

// Trigger returns the trigger of the last rule that was taken. It is "" before the first one, and
// after [FSM.SetPosition] until the next one.
func (f *FSM) Trigger() Trigger {
	if f == nil {
		return ""
	}
	return f.last
}

// Can reports whether the trigger is allowed now: the current state has a rule for it, and its cap
// is not used up.
func (f *FSM) Can(on Trigger) bool {
	_, refused := f.target(on)
	return refused == nil
}

// Then fires the trigger and returns the step, whose kind must be the one that the new state
// awaits. If the trigger is not allowed, its cap is used up, or the step is of another kind, the
// state does not change, and Then returns a [nextstep.ReportError] with delegation.CodeLimit for a
// cap and delegation.CodeDefect otherwise. For an FSM that cannot be used, the error is that of
// [FSM.Check].
func (f *FSM) Then(on Trigger, step nextstep.NextStep) nextstep.NextStep {
	to, refused := f.target(on)
	if refused != nil {
		return nextstep.ReportError{Err: refused}
	}
	if step == nil || step.Kind() != to.awaits {
		got := "no step"
		if step != nil {
			got = step.Kind().String()
		}
		return nextstep.ReportError{Err: f.refuse(delegation.CodeDefect, "trigger %q in state %q leads to %q, which awaits %s, not %s", on, f.State(), to.to, to.awaits, got)}
	}
	f.move(on, to)
	return step
}

// OutOfTurn is the answer of a method that the current state does not expect. It returns a
// [nextstep.ReportError] that says so or, for an FSM that cannot be used, has the error of
// [FSM.Check]. The state does not change. Call OutOfTurn before the strategy changes anything of
// its own.
func (f *FSM) OutOfTurn() nextstep.NextStep {
	if err := f.Check(); err != nil {
		return nextstep.ReportError{Err: delegation.NewError(delegation.CodeDefect, err)}
	}
	return nextstep.ReportError{Err: f.refuse(delegation.CodeDefect, "a method was called out of turn, in state %q", f.State())}
}

// move makes an allowed move. When the frame ends, its machine is released for the next frame, and
// replaced by one that is always in the final state.
func (f *FSM) move(on Trigger, to *target) {
	f.moves++
	f.last = on
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

// target returns the target of trigger on in the current state, if it is allowed. looplab/fsm
// decides whether there is a transition; the look-up after it relies on that.
func (f *FSM) target(on Trigger) (*target, *delegation.Error) {
	if err := f.Check(); err != nil {
		return nil, delegation.NewError(delegation.CodeDefect, err)
	}
	if !f.machine.Can(string(on)) {
		return nil, f.refuse(delegation.CodeDefect, "trigger %q has no rule in state %q", on, f.State())
	}
	to := f.table.made.moves[move{f.State(), on}]
	if to.caps >= 0 && f.left[to.caps] == 0 {
		return nil, f.refuse(delegation.CodeLimit, "cap %q is used up: trigger %q refused in state %q", f.table.made.caps[to.caps], on, f.State())
	}
	return to, nil
}

func (f *FSM) refuse(code delegation.Code, format string, args ...any) *delegation.Error {
	return delegation.NewError(code, fmt.Errorf("strategy: table %q: %s", f.table.Name, fmt.Sprintf(format, args...)))
}
