package strategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/tools"
)

// Strategy decides what happens next.
//
// Initialize is called first, once. Every other method is called only with the answer to a step of
// the matching kind, one call at a time. A method that is called out of turn returns
// [nextstep.ReportError] and leaves the state unchanged.
//
// A strategy is pure: its results depend only on its arguments. It must not read clocks, random
// numbers, files, the environment or the network, start goroutines, or depend on the order of a
// map. Its arguments and its results are read-only.
type Strategy interface {
	Initialize(in delegation.Input) nextstep.NextStep
	ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep
	ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep
	ProcessDelegationResult(out delegation.Output) nextstep.NextStep
}

// FailureHandler is a [Strategy] that decides what happens when a step could not be performed. The
// failure is data; it never contains a live cause.
type FailureHandler interface {
	ProcessFailure(f nextstep.Failure) nextstep.NextStep
}

// Concluder is a [Strategy] that gives a last output when its run is stopped. No further step is
// performed. If the output has nil Messages, those of the frame are used.
type Concluder interface {
	Conclude(reason string) delegation.Output
}

// Inheritor is a [Strategy] that receives the work of its child when its run is stopped. Inherit is
// called before Conclude, with the child's last output, which has an error. No further step is
// performed.
type Inheritor interface {
	Inherit(out delegation.Output)
}

// BranchInheritor is a [Strategy] that calls agents, and needs their whole outputs: a tool result
// holds only the text. InheritBranches is called with the outputs of all branches of a batch, in
// the order of the calls and of the branches of each, whatever order they ended in: before
// ProcessToolResults or, if the run was stopped meanwhile, before Conclude. It is not called for a
// batch without branches. The slice is read-only.
type BranchInheritor interface {
	InheritBranches(outs []BranchOutput)
}

// BranchOutput is the output of a branch, which a call of an agent has opened.
type BranchOutput struct {
	CallID  string
	NoChild bool // the strategy of the agent is unknown or cannot be made; the Output has only an error
	Output  delegation.Output
}

// ToolUser is a [Strategy] that works with the tools of the run. UseTools is called once for each
// frame, before Initialize, with the tools that the frame may use; the slice is read-only.
type ToolUser interface {
	UseTools(defs []tools.Definition)
}

// Namer is a [Strategy] whose configuration names tools or strategies of the run. The set-up of a
// run fails if a name is unknown.
type Namer interface {
	Names() Names
}

// Names are what a strategy names. They are read-only.
type Names struct {
	Tools []string // tools of the run

	// Children are strategies to delegate to. Nil means that it may delegate to any, such as those
	// whose names it learns during a run.
	Children []string

	// Handoffs are all strategies that it may end by naming, see [nextstep.Handoff]. A frame
	// that names another fails.
	Handoffs []string
}

// NamesOf returns the names of a strategy; none if it is no [Namer].
func NamesOf(s Strategy) Names {
	if n, ok := s.(Namer); ok {
		return n.Names()
	}
	return Names{}
}

// ToolProvider is a [Strategy] that adds tools of its own, by which a model drives it. No
// allow-list applies to them. Tools is called once for each frame, before Initialize. The names
// must differ from those of the run's tools.
type ToolProvider interface {
	Tools() []tools.Tool
}

// CallEditor is a [Strategy] that keeps the calls of its conversation. If a person or a middleware
// changed arguments, EditCalls is called before ProcessToolResults, so that the model later sees
// the calls as they were made. The slice is read-only.
type CallEditor interface {
	EditCalls(calls []messages.ToolCall)
}

// Listener is a [Strategy] that hears notes, which are texts for a run that is at work. Hear is
// called right before the answer to the last step is passed on, once for each note that came in
// the meantime, in the order in which they came. It returns nothing: the strategy shows with its
// next step what comes of a note. In a run that must end it is not called.
type Listener interface {
	Hear(note string)
}

// Tabler is a [Strategy] whose moves are those of an [FSM]. The table and the values of its caps
// are checked when the strategy is first used, like those of a [Checker]. Events tell its moves.
type Tabler interface {
	FSM() *FSM
}

// Checker is a [Strategy] that may have an invalid configuration. A constructor that returns a
// factory cannot return an error; Check returns it when the strategy is first used.
type Checker interface {
	Check() error
}

// Set holds a factory for each strategy, by name. A factory must return a new strategy at each
// call, so that any number of concurrent runs can use one Set. Runs must share nothing but the
// factory.
type Set map[string]func() Strategy

// New returns a new strategy with that name, or an [*UnknownError] if there is none.
func (s Set) New(name string) (Strategy, error) {
	factory, ok := s[name]
	if !ok {
		return nil, &UnknownError{Name: name, Known: s.Names()}
	}
	if factory == nil {
		return nil, fmt.Errorf("strategy: the factory of %q is nil: give it one, such as completetask.New returns", name)
	}
	st := factory()
	if st == nil {
		return nil, fmt.Errorf("strategy: the factory of %q returned nil: it must return a new strategy at each call", name)
	}
	return st, nil
}

// Names returns the names in the set, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s)) }

// UnknownError reports that a Set has no strategy with that name.
type UnknownError struct {
	Name  string
	Known []string // sorted
}

// Error includes the requested name and the known names.
func (e *UnknownError) Error() string {
	known := "none"
	if len(e.Known) > 0 {
		known = strings.Join(e.Known, ", ")
	}
	if e.Name == "" {
		return "strategy: no strategy is named; known: " + known
	}
	return fmt.Sprintf("strategy: no strategy %q; known: %s", e.Name, known)
}

// Defaults implements the methods of [Strategy] that a strategy does not need: each reports that it
// was called out of turn. Embed it.
type Defaults struct{}

// ProcessAPIResponse reports an unexpected answer.
func (Defaults) ProcessAPIResponse(llmclient.Response) nextstep.NextStep {
	return outOfTurn("a model's reply")
}

// ProcessToolResults reports an unexpected answer.
func (Defaults) ProcessToolResults([]messages.ToolOutput) nextstep.NextStep {
	return outOfTurn("tool results")
}

// ProcessDelegationResult reports an unexpected answer.
func (Defaults) ProcessDelegationResult(delegation.Output) nextstep.NextStep {
	return outOfTurn("the output of a delegated strategy")
}

func outOfTurn(what string) nextstep.NextStep {
	return nextstep.ReportError{Err: &delegation.Error{
		Code:    delegation.CodeDefect,
		Message: "strategy: was given " + what + ", which it never asks for",
	}}
}
