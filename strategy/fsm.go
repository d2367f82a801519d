package strategy

import (
	"fmt"

	"github.com/looplab/fsm"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
)

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
			return nil, &TableError{Table: table, Problem: fmt.Sprintf("cap %q needs a value, zero or more, or Unbounded", name)}
		}
		left[i] = n
	}
	if len(caps) > len(c.caps) {
		return nil, &TableError{Table: table, Problem: fmt.Sprintf("was given caps %v, and its rules name only %v", caps, c.caps)}
	}
	return left, nil
}

// Check returns the errors of the table or of the values of its caps: [*TableError], joined. It
// returns nil if the machine can be used.
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
	_, err := f.target(on)
	return err == nil
}

// Then fires the trigger and returns the step, whose kind must be the one that the new state
// awaits. If the trigger is not allowed, its cap is used up, or the step is of another kind, the
// state does not change, and Then returns a [nextstep.ReportError] with a [*TransitionError] or a
// [*CapError]. For an FSM that cannot be used, the error is that of [FSM.Check].
func (f *FSM) Then(on Trigger, step nextstep.NextStep) nextstep.NextStep {
	to, err := f.target(on)
	if err != nil {
		return refused(err)
	}
	if step == nil || step.Kind() != to.awaits {
		return refused(&TransitionError{Table: f.table.Name, State: f.State(), Trigger: on, To: to.to, Want: to.awaits, Step: step})
	}
	f.move(on, to)
	return step
}

// OutOfTurn is the answer of a method that the current state does not expect. It returns a
// [nextstep.ReportError] with a [*TransitionError] that names no trigger or, for an FSM that cannot
// be used, with the error of [FSM.Check]. The state does not change. Call OutOfTurn before the
// strategy changes anything of its own.
func (f *FSM) OutOfTurn() nextstep.NextStep {
	if err := f.Check(); err != nil {
		return refused(err)
	}
	return refused(&TransitionError{Table: f.table.Name, State: f.State()})
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

// Discard ends the use of the machine before its frame has ended, for code that makes very many
// runs: memory goes back to the table, for the next machine. From then on the FSM is like the zero
// FSM. Do not discard the machine of a frame that a run still has.
func (f *FSM) Discard() {
	if f == nil || f.machine == nil {
		return
	}
	if c := f.table.compile(); c.finals[f.State()] != f.machine { // that one is shared
		c.idle.Put(f.machine)
	}
	*f = FSM{}
}

// target returns the target of trigger on in the current state, if it is allowed. looplab/fsm
// decides whether there is a transition; the look-up after it relies on that.
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

// TransitionError reports that a strategy did what its table forbids: it used a trigger without a
// rule, or returned a step of a kind that the next state does not await. The cause is a defect of
// the strategy, or a call out of turn.
type TransitionError struct {
	Table   string
	State   State             // the current state, which does not change
	Trigger Trigger           // "" for a call out of turn
	To      State             // the next state, if the step was of the wrong kind
	Want    nextstep.Kind     // what To awaits
	Step    nextstep.NextStep // the step given
}

// Error includes the state, the trigger, and the problem.
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

// CapError reports that a rule was already taken as often as its cap allows.
type CapError struct {
	Table   string
	State   State // the current state, which does not change
	Trigger Trigger
	Cap     string
}

// Error includes the cap, the state and the trigger.
func (e *CapError) Error() string {
	return fmt.Sprintf("strategy: table %q: cap %q is used up: trigger %q refused in state %q", e.Table, e.Cap, e.Trigger, e.State)
}
