package orchestrator

import (
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// MachineConfig says what a [Machine] is to run.
type MachineConfig struct {
	Run    string             // the run's id; "" makes one (a UUID of version 7, RFC 9562)
	Set    strategy.Set       // what may be delegated to
	Root   string             // the strategy to begin with
	Input  delegation.Input   // what it begins with
	Limits delegation.Limits  // for the whole tree; zero fields are the defaults
	Tools  []tools.Definition // the tools of the run
	Remote []string           // names to delegate to that are not in the Set: such a Delegate is left to the outside

	StopNote string // as in [Config]
}

// Machine holds the frame stack of one run. It says which step is pending, and moves on when it is
// fed the answer. It does no I/O, reads no clock and starts no goroutine, so any engine can drive
// it:
//
//	for !m.Done() {
//		answer := perform(m.Pending())
//		if err := m.Step(answer); err != nil { … }
//		for _, e := range m.Events() { … }
//	}
//
// A Machine only ever waits for the outside world: delegations are pushed, popped and resumed
// inside Step. It is not safe for concurrent use.
type Machine struct {
	run    string
	set    strategy.Set
	tools  []tools.Definition
	remote []string

	stack     delegation.Stack[*frame]
	pending   nextstep.NextStep // nil when done
	seq       int               // of the pending step
	events    []Event
	drained   bool
	inner     int  // delegations since the last step of the outside
	untrusted bool // text from outside has been read
	stopNote  string
	silent    bool   // nobody sees events of steps and changes of state
	durable   bool   // each step is digested before anybody performs it
	stepSum   string // the digest of the pending step, of a durable run
	onPanic   func(*PanicReport)
	changes   [8]Detail // see change
	output    delegation.Output
	status    Status

	// Room for what every run needs, so that it is made at once.
	root  frame
	spare *frame // of a child that has ended, for the next one
	room  [4]Event
}

// NewMachine starts a run and settles it at its first pending step. The error is a [*ConfigError]:
// an unknown strategy (wrapping [*strategy.UnknownError]), or one that was configured wrongly.
func NewMachine(cfg MachineConfig) (*Machine, error) {
	m := new(Machine)
	if err := m.start(&cfg); err != nil {
		return nil, err
	}
	return m, nil
}

// reset makes a Machine that has been used ready for start. What it was asked to hold on to is
// gone.
func (m *Machine) reset() {
	for m.stack.Depth() > 0 {
		m.stack.Pop()
	}
	stack, changes := m.stack, m.changes
	*m = Machine{}
	m.stack, m.changes = stack, changes
}

// start is NewMachine for a Machine that is new or reset.
func (m *Machine) start(cfg *MachineConfig) error {
	m.run, m.set, m.tools, m.remote, m.events = cfg.Run, cfg.Set, cfg.Tools, cfg.Remote, m.room[:0]
	if m.run == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return &ConfigError{Field: "Run", Err: err}
		}
		m.run = id.String()
	}
	root := &m.root
	if err := m.build(root, cfg.Root); err != nil {
		return &ConfigError{Field: "Root", Err: err}
	}
	root.name, root.input, root.allowed = "0", cfg.Input, cfg.Tools
	root.limits = overlay(cfg.Limits, defaultLimits)
	m.untrusted, m.stopNote = holdsUntrusted(cfg.Input.Messages), either(cfg.StopNote, "[stopped]")
	m.emit(EventRunStarted, RunStarted{Strategy: cfg.Root, Goal: cfg.Input.Goal})
	m.settle(m.enter(root))
	return nil
}

// build makes f a frame for the strategy of that name, not yet placed in the tree.
func (m *Machine) build(f *frame, name string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &PanicError{Value: v, Stack: debug.Stack()}
			if m.onPanic != nil {
				m.onPanic(&PanicReport{Run: m.run, Seq: m.seq, Where: "the factory of strategy " + name, Value: v, Stack: p.Stack})
			}
			err = fmt.Errorf("the factory of strategy %q %w", name, p)
		}
	}()
	st, err := m.set.New(name)
	if err != nil {
		return err
	}
	if c, ok := st.(strategy.Checker); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("strategy %q: %w", name, err)
		}
	}
	f.strategy, f.st, f.answers = name, st, f.room[:0]
	f.stater, _ = st.(strategy.Stater)
	if t, ok := st.(strategy.Tabler); ok {
		machine := t.FSM()
		if err := machine.Check(); err != nil {
			return fmt.Errorf("strategy %q: %w", name, err)
		}
		if f.stater == nil {
			f.stater = machine
		}
	}
	if p, ok := st.(strategy.ToolProvider); ok {
		f.own = p.Tools()
		for i, t := range f.own {
			if t == nil {
				return fmt.Errorf("strategy %q: its tool number %d is nil", name, i)
			}
			f.ownNames = append(f.ownNames, t.Definition().Name)
		}
	}
	return nil
}

// Run returns the run's id.
func (m *Machine) Run() string { return m.run }

// Pending returns the step that waits to be performed: GetChatCompletion, ExecuteTools, or a
// Delegate to a remote strategy; nil when the run is done. Calling it changes nothing.
func (m *Machine) Pending() nextstep.NextStep { return m.pending }

// Frame returns the name of the frame whose step is pending, and its depth; the root's is 1. When
// the run is done it returns "" and 0.
func (m *Machine) Frame() (name string, depth int) {
	f, ok := m.stack.Top()
	if !ok {
		return "", 0
	}
	return f.name, m.stack.Depth()
}

// Seq returns the number of the pending step, from 1, over the whole run. Delegations have numbers
// too.
func (m *Machine) Seq() int { return m.seq }

// Tools returns the tools that the strategy of the pending step brought. The slice is read-only.
func (m *Machine) Tools() []tools.Tool {
	if f, ok := m.stack.Top(); ok {
		return f.own
	}
	return nil
}

// Done reports whether the run has ended.
func (m *Machine) Done() bool { return m.pending == nil }

// Output returns the output of the run, complete once it is done.
func (m *Machine) Output() delegation.Output { return m.output }

// Status returns how the run ended; "" while it goes on.
func (m *Machine) Status() Status { return m.status }

// Events returns what happened since the last call, in order, without times. The slice is valid
// until the next Step.
func (m *Machine) Events() []Event {
	if m.drained {
		return nil
	}
	m.drained = true
	return m.events
}

// rootEvent returns an event of the root.
func (m *Machine) rootEvent(kind EventKind, detail Detail) Event {
	return Event{Run: m.run, Frame: "0", Depth: 1, Seq: m.seq, Kind: kind, Detail: detail}
}

// emit adds an event of the frame on top; of the root if there is none.
func (m *Machine) emit(kind EventKind, detail Detail) {
	if m.drained {
		m.events, m.drained = m.events[:0], false
	}
	frame, depth := m.Frame()
	if depth == 0 {
		frame, depth = "0", 1
	}
	m.events = append(m.events, Event{Run: m.run, Frame: frame, Depth: depth, Seq: m.seq, Kind: kind, Detail: detail})
}

// Step feeds the answer to the pending step and runs on until the next one. It returns [ErrDone]
// when the run has ended, and an [*AnswerError] for what does not answer the pending step; then
// nothing has changed.
func (m *Machine) Step(a nextstep.Answer) error {
	if m.Done() {
		return ErrDone
	}
	if err := m.check(a); err != nil {
		return err
	}
	m.advance(a)
	return nil
}

// check returns an [*AnswerError] if a does not answer the pending step.
func (m *Machine) check(a nextstep.Answer) error {
	problem := m.misfit(a)
	if problem == "" {
		return nil
	}
	f, _ := m.stack.Top()
	return &AnswerError{Run: m.run, Frame: f.name, Seq: m.seq, State: f.state, Pending: m.pending.Kind(), Answer: a, Problem: problem}
}

// advance is Step with an answer that has been checked.
func (m *Machine) advance(a nextstep.Answer) {
	f, _ := m.stack.Top()
	m.settle(m.feed(f, a))
}

// charge adds what a step used to every frame on the stack.
func (m *Machine) charge(t *tally) {
	for _, f := range m.stack.All() {
		f.used.add(t)
	}
}
