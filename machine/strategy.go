package machine

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/internal/guard"
	"github.com/segue-go/segue/nextstep"
)

// reported converts the error of a ReportError to data. The error comes from the strategy, and its
// methods may panic.
func (m *Machine) reported(f *frame, err error) (e *delegation.Error) {
	defer func() {
		if v := recover(); v != nil {
			e = m.brokeDown(f, "the Error method of its error", v)
		}
	}()
	if _, ok := err.(*delegation.Error); !ok && err != nil { //nolint:errorlint // only this exact type is already data
		err = guard.New(err, err.Error())
	}
	if e = delegation.AsError(err); e == nil {
		e = &delegation.Error{Code: delegation.CodeDefect, Message: "machine: ReportError without an error"}
	}
	return e
}

// defect fails a frame whose strategy returned an invalid step.
func (m *Machine) defect(f *frame, method, problem string, cause error) nextstep.NextStep {
	code := delegation.CodeDefect
	if cause != nil {
		code = delegation.CodeInvalid
	}
	return nextstep.ReportError{Err: delegation.NewError(code,
		&StrategyError{Run: m.run, Frame: f.name, Strategy: f.strategy, Method: method, Problem: problem, Err: cause})}
}

// brokeDown returns the error of a frame whose strategy panicked.
func (m *Machine) brokeDown(f *frame, method string, v any) *delegation.Error {
	p := m.panicked(f, "the strategy "+f.strategy+" in "+method, v)
	return delegation.NewError(delegation.CodePanic, &StrategyError{
		Run: m.run, Frame: f.name, Strategy: f.strategy, Method: method, Problem: "failed", Err: p,
	})
}

// call calls a method of the frame's strategy, and turns a panic into an error.
func (m *Machine) call(f *frame, method string, fn func() nextstep.NextStep) (next nextstep.NextStep) {
	defer func() {
		if v := recover(); v != nil {
			next = nextstep.ReportError{Err: m.brokeDown(f, method, v)}
		}
	}()
	next = fn()
	m.reportState(f)
	if next == nil {
		return m.defect(f, method, "returned no step", nil)
	}
	return next
}

// readState notes the state of the frame's strategy without an event.
func (f *frame) readState() {
	if f.tabler != nil {
		fsm := f.tabler.FSM()
		f.state, f.moves = fsm.State(), fsm.Moves()
	}
}

// reportState emits an event if the FSM of the frame's strategy has moved, even to the same state.
func (m *Machine) reportState(f *frame) {
	from, before := f.state, f.moves
	f.readState()
	if f.state == from && f.moves == before || m.cfg.Quiet {
		return
	}
	changed := StateChanged{Strategy: f.strategy, From: from, To: f.state}
	if f.moves == before+1 { // of several moves none leads from the one state to the other
		changed.On = f.tabler.FSM().Trigger()
	}
	m.emit(f, EventStateChanged, m.change(changed))
}

// change boxes a detail. Strategies repeat their state changes, so the boxes of the first few are
// reused.
func (m *Machine) change(c StateChanged) Detail {
	for i, d := range m.changes {
		if d == nil {
			d = c
			m.changes[i] = d
		}
		if d == Detail(c) {
			return d
		}
	}
	return c
}
