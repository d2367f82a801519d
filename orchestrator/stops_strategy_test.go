package orchestrator_test

import (
	"errors"
	"fmt"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	"github.com/segue-go/segue/tools"
)

// stopsSolver is the factory of complete-task for all cases.
var stopsSolver = completetask.New(completetask.Config{})

// stopsStrategy is the strategy of a stopsNode.
type stopsStrategy struct {
	stopsNode
	world   *stopsWorld
	tools   []tools.Definition
	history messages.History
	next    int // of acts
	again   bool
}

// What a strategy can do besides is found by its type.
type (
	stopsRecovering struct{ *stopsStrategy }
	stopsConcluding struct {
		*stopsStrategy
		stopsConcluder
	}
	stopsBoth struct {
		stopsRecovering
		stopsConcluder
	}
)

type stopsConcluder struct{}

// Conclude implements strategy.Concluder.
func (stopsConcluder) Conclude(reason string) delegation.Output {
	return delegation.Output{Result: &reason}
}

// strategies are those of the case.
func (w *stopsWorld) strategies() strategy.Set {
	set := strategy.Set{"solve": stopsSolver}
	for i, n := range w.plan.nodes {
		set[stopsName(i)] = func() strategy.Strategy {
			s := &stopsStrategy{stopsNode: n, world: w}
			switch {
			case n.recovers && n.concludes:
				return stopsBoth{stopsRecovering: stopsRecovering{s}}
			case n.recovers:
				return stopsRecovering{s}
			case n.concludes:
				return stopsConcluding{stopsStrategy: s}
			default:
				return s
			}
		}
	}
	return set
}

func stopsName(act int) string {
	if act == stopsSolve {
		return "solve"
	}
	return fmt.Sprintf("node%d", act)
}

// UseTools implements strategy.ToolUser.
func (s *stopsStrategy) UseTools(defs []tools.Definition) { s.tools = defs }

// Initialize implements strategy.Strategy.
func (s *stopsStrategy) Initialize(in delegation.Input) nextstep.NextStep {
	s.history = append(in.Messages.Clip(), messages.UserText(in.Goal))
	return s.act()
}

// act goes on with the next act.
func (s *stopsStrategy) act() nextstep.NextStep {
	if s.next == len(s.acts) {
		return s.finish()
	}
	act := s.acts[s.next]
	s.next++
	if act == stopsAsk {
		return s.ask()
	}
	child := nextstep.Delegate{Strategy: stopsName(act), Input: delegation.Input{Goal: fmt.Sprintf("part %d", s.next)}}
	if s.share {
		child.Input.Messages = s.history.Clip()
	}
	if s.few {
		child.Tools = []string{"look"}
	}
	return child
}

func (s *stopsStrategy) ask() nextstep.NextStep {
	return nextstep.GetChatCompletion{Request: llmclient.Request{Messages: s.history.Clip(), Tools: s.tools}}
}

func (s *stopsStrategy) finish() nextstep.NextStep {
	var out delegation.Output
	if !s.bare {
		out.Messages = s.history.Clip()
	}
	switch s.end {
	case stopsEndsBadly:
		return nextstep.ReportError{Err: errors.New("it cannot be done"), Output: out}
	case stopsEndsInPanic:
		panic("a strategy")
	default:
		out.Result = new("done")
		return nextstep.Complete{Output: out}
	}
}

// ProcessAPIResponse implements strategy.Strategy.
func (s *stopsStrategy) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	if !resp.Message.Empty() {
		s.history = append(s.history, resp.Message)
	}
	if calls := resp.Message.Calls(); len(calls) > 0 {
		return nextstep.ExecuteTools{Calls: calls}
	}
	return s.act()
}

// ProcessToolResults implements strategy.Strategy.
func (s *stopsStrategy) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	for _, r := range results {
		s.history = append(s.history, messages.Tool{ToolOutput: r})
	}
	return s.ask()
}

// ProcessDelegationResult implements strategy.Strategy.
func (s *stopsStrategy) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	s.world.children = append(s.world.children, out.Messages)
	said := "it failed"
	if out.Err == nil {
		said = "it said " + out.Text()
	}
	s.history = append(s.history, messages.UserText(said))
	return s.act()
}

// ProcessFailure implements strategy.FailureHandler.
func (s stopsRecovering) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	if s.again || f.Source != nextstep.SourceModel {
		return nextstep.ReportError{Err: &delegation.Error{Code: f.Code, Message: f.Message}}
	}
	s.again = true
	if !f.Partial.Empty() {
		s.history = append(s.history, f.Partial)
	}
	s.history = append(s.history, messages.UserText("go on"))
	return s.ask()
}
