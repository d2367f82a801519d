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
// Initialize is called once, first. Every other method is called only as the answer to the step
// that asked for it, one call at a time. A method called out of turn returns [nextstep.ReportError]
// and leaves the state as it was.
//
// A strategy is pure: what it returns follows from what it was given. It must not read clocks,
// random numbers, files, the environment or the network, start goroutines, or depend on the order
// of a map. What it is given is read-only, and so is what it returned.
type Strategy interface {
	Initialize(in delegation.Input) nextstep.NextStep
	ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep
	ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep
	ProcessDelegationResult(out delegation.Output) nextstep.NextStep
}

// FailureHandler is a [Strategy] that wants to decide what happens when a step could not be
// performed. The failure says what happened in data; it never holds a live cause.
type FailureHandler interface {
	ProcessFailure(f nextstep.Failure) nextstep.NextStep
}

// Concluder is a [Strategy] that gives a last output when its run is stopped. No further step will
// be performed. Messages left nil are filled with those of the frame.
type Concluder interface {
	Conclude(reason string) delegation.Output
}

// Inheritor is a [Strategy] that wants to know what its child had reached when its run was stopped.
// Inherit is called before Conclude, with the child's last output; it has an error. No further step
// will be performed.
type Inheritor interface {
	Inherit(out delegation.Output)
}

// ToolUser is a [Strategy] that works with the tools of the run. UseTools is called once for each
// frame, before Initialize, with those that the frame may use; the slice is read-only.
type ToolUser interface {
	UseTools(defs []tools.Definition)
}

// ToolNamer is a [Strategy] whose configuration names tools of the run. Whoever sets up a run
// refuses names that there are not.
type ToolNamer interface {
	ToolNames() []string
}

// Delegator is a [Strategy] whose configuration names strategies to delegate to. Whoever sets up a
// run refuses names that there are not. A strategy may delegate to others besides, whose names it
// learns only in a run.
type Delegator interface {
	Children() []string
}

// ToolProvider is a [Strategy] that brings tools of its own, by which a model drives it; no
// allow-list applies to them. Tools is called once for each frame, before Initialize. The names
// must differ from those of the run's tools.
type ToolProvider interface {
	Tools() []tools.Tool
}

// CallEditor is a [Strategy] that keeps the calls of its conversation. EditCalls is called before
// ProcessToolResults where a middleware changed arguments: what the model sees from then on is the
// calls as they were made. The slice is read-only.
type CallEditor interface {
	EditCalls(calls []messages.ToolCall)
}

// Stater is a [Strategy] that tells its state.
type Stater interface {
	State() State
}

// Tabler is a [Strategy] whose moves are those of an [FSM]. The table and the values of its caps
// are checked when the strategy is first put into use, as a [Checker] is, and the strategy tells
// the state of its FSM, as a [Stater] does.
type Tabler interface {
	FSM() *FSM
}

// Checker is a [Strategy] that may have been configured wrongly. A constructor that returns a
// factory has no place for an error; this is where it comes out, when the strategy is first put
// into use.
type Checker interface {
	Check() error
}

// Set holds a factory for each strategy, by name. A factory returns a fresh strategy at each call,
// so one Set serves any number of runs at once; nothing but the factory may be shared between them.
type Set map[string]func() Strategy

// New returns a fresh strategy of that name. The error is an [*UnknownError] if there is none.
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

// UnknownError says that a Set has no strategy of a name.
type UnknownError struct {
	Name  string
	Known []string // sorted
}

// Error names the strategy that was asked for and those that there are.
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

// Defaults answers the methods of [Strategy] that a strategy has no use for: each reports that it
// was called out of turn. Embed it.
type Defaults struct{}

// ProcessAPIResponse reports an answer that nobody asked for.
func (Defaults) ProcessAPIResponse(llmclient.Response) nextstep.NextStep {
	return outOfTurn("a model's reply")
}

// ProcessToolResults reports an answer that nobody asked for.
func (Defaults) ProcessToolResults([]messages.ToolOutput) nextstep.NextStep {
	return outOfTurn("tool results")
}

// ProcessDelegationResult reports an answer that nobody asked for.
func (Defaults) ProcessDelegationResult(delegation.Output) nextstep.NextStep {
	return outOfTurn("the output of a delegated strategy")
}

func outOfTurn(what string) nextstep.NextStep {
	return nextstep.ReportError{Err: &delegation.Error{
		Code:    delegation.CodeDefect,
		Message: "strategy: was given " + what + ", which it never asks for",
	}}
}
