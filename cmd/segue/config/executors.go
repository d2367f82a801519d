package config

import (
	"cmp"
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// planner is implemented by every built-in strategy that has plans.
type planner interface {
	strategy.Strategy
	strategy.FailureHandler
	strategy.Concluder
	strategy.Inheritor
	strategy.BranchInheritor
	strategy.ToolUser
	strategy.Namer
	strategy.ToolProvider
	strategy.CallEditor
	strategy.Listener
	strategy.Tabler
	strategy.Checker
	strategy.Snapshotter
	strategy.Bounder
}

// plannerOfAgent is a planner in whose plans executors have the names of strategies. It delegates
// to those of the agent. So its requests are the same whatever the agent is called.
type plannerOfAgent struct {
	planner
	names map[string]string // by the name in plans; others stand for themselves
}

// standingFor returns a factory for planners in whose plans names stand for other strategies.
func standingFor(factory func() strategy.Strategy, names map[string]string) func() strategy.Strategy {
	return func() strategy.Strategy {
		made := factory()
		if p, ok := made.(planner); ok {
			return plannerOfAgent{p, names}
		}
		return made
	}
}

func (p plannerOfAgent) real(name string) string { return cmp.Or(p.names[name], name) }

// step returns a step with the strategy that is meant.
func (p plannerOfAgent) step(next nextstep.NextStep) nextstep.NextStep {
	if d, ok := next.(nextstep.Delegate); ok {
		d.Strategy = p.real(d.Strategy)
		return d
	}
	return next
}

// Names implements [strategy.Namer].
func (p plannerOfAgent) Names() strategy.Names {
	names := p.planner.Names()
	names.Children = slices.Clone(names.Children)
	for i, name := range names.Children {
		names.Children[i] = p.real(name)
	}
	return names
}

// Tools implements [strategy.ToolProvider].
func (p plannerOfAgent) Tools() []tools.Tool {
	list := p.planner.Tools()
	for i, t := range list {
		if a := machine.AgentOf(t); a != nil {
			meant := *a
			meant.Strategy = p.real(a.Strategy)
			list[i] = executorTool{t, &meant}
		}
	}
	return list
}

// executorTool is an agent that the planner brings, with the strategy that is meant.
type executorTool struct {
	tools.Tool
	agent *machine.Agent
}

// Agent returns the agent.
func (t executorTool) Agent() *machine.Agent { return t.agent }

// Initialize implements [strategy.Strategy].
func (p plannerOfAgent) Initialize(in delegation.Input) nextstep.NextStep {
	return p.step(p.planner.Initialize(in))
}

// ProcessAPIResponse implements [strategy.Strategy].
func (p plannerOfAgent) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	return p.step(p.planner.ProcessAPIResponse(resp))
}

// ProcessToolResults implements [strategy.Strategy].
func (p plannerOfAgent) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	return p.step(p.planner.ProcessToolResults(results))
}

// ProcessDelegationResult implements [strategy.Strategy].
func (p plannerOfAgent) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	return p.step(p.planner.ProcessDelegationResult(out))
}

// ProcessFailure implements [strategy.FailureHandler].
func (p plannerOfAgent) ProcessFailure(f nextstep.Failure) nextstep.NextStep {
	return p.step(p.planner.ProcessFailure(f))
}
