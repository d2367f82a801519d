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

// toolStrategy is implemented by every built-in strategy that offers tools of the run to its model,
// or has plans.
type toolStrategy interface {
	strategy.Strategy
	strategy.FailureHandler
	strategy.Concluder
	strategy.ToolUser
	strategy.CallEditor
	strategy.Listener
	strategy.Tabler
	strategy.Checker
	strategy.Snapshotter
	strategy.Bounder
}

// fitted is a strategy that is fitted to its agent. One of an agent that names no tools offers only
// the tools that its frame may use: what they are depends on its parent. One with plans may have
// executors with names of strategies in them, and delegates to those of the agent: so its requests
// are the same whatever the agent is called.
type fitted struct {
	toolStrategy
	offered []string          // names of tools; nil: all that there are
	names   map[string]string // by the name in plans; others stand for themselves
}

// fit returns a factory for strategies that are fitted.
func fit(factory func() strategy.Strategy, offered []string, names map[string]string) func() strategy.Strategy {
	return func() strategy.Strategy {
		made := factory()
		if s, ok := made.(toolStrategy); ok {
			return fitted{s, offered, names}
		}
		return made
	}
}

func (f fitted) real(name string) string { return cmp.Or(f.names[name], name) }

// step returns a step with the strategy that is meant.
func (f fitted) step(next nextstep.NextStep) nextstep.NextStep {
	if d, ok := next.(nextstep.Delegate); ok {
		d.Strategy = f.real(d.Strategy)
		return d
	}
	return next
}

// UseTools implements [strategy.ToolUser].
func (f fitted) UseTools(defs []tools.Definition) {
	if f.offered != nil {
		named := []tools.Definition{}
		for _, name := range f.offered {
			if i := slices.IndexFunc(defs, func(d tools.Definition) bool { return d.Name == name }); i >= 0 {
				named = append(named, defs[i])
			}
		}
		defs = named
	}
	f.toolStrategy.UseTools(defs)
}

// Bounds implements [strategy.Bounder].
func (f fitted) Bounds() strategy.Bounds {
	b := f.toolStrategy.Bounds()
	if f.offered != nil {
		own := b.Offers
		b.Offers = slices.DeleteFunc(slices.Clone(f.offered), func(name string) bool { return own != nil && !slices.Contains(own, name) })
	}
	return b
}

// Names implements [strategy.Namer]. One with offered tools hands off like the strategy, and what
// else that names is left to the parent.
func (f fitted) Names() strategy.Names {
	names := strategy.NamesOf(f.toolStrategy)
	if f.offered != nil {
		return strategy.Names{Handoffs: names.Handoffs}
	}
	names.Children = slices.Clone(names.Children)
	for i, name := range names.Children {
		names.Children[i] = f.real(name)
	}
	return names
}

// Tools implements [strategy.ToolProvider], if the strategy does.
func (f fitted) Tools() []tools.Tool {
	p, ok := f.toolStrategy.(strategy.ToolProvider)
	if !ok {
		return nil
	}
	list := p.Tools()
	for i, t := range list {
		if a := machine.AgentOf(t); a != nil {
			meant := *a
			meant.Strategy = f.real(a.Strategy)
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

// InheritBranches implements [strategy.BranchInheritor], if the strategy does.
func (f fitted) InheritBranches(outs []strategy.BranchOutput) {
	if i, ok := f.toolStrategy.(strategy.BranchInheritor); ok {
		i.InheritBranches(outs)
	}
}

// Inherit implements [strategy.Inheritor], if the strategy does.
func (f fitted) Inherit(out delegation.Output) {
	if i, ok := f.toolStrategy.(strategy.Inheritor); ok {
		i.Inherit(out)
	}
}

// Initialize implements [strategy.Strategy].
func (f fitted) Initialize(in delegation.Input) nextstep.NextStep {
	return f.step(f.toolStrategy.Initialize(in))
}

// ProcessAPIResponse implements [strategy.Strategy].
func (f fitted) ProcessAPIResponse(resp llmclient.Response) nextstep.NextStep {
	return f.step(f.toolStrategy.ProcessAPIResponse(resp))
}

// ProcessToolResults implements [strategy.Strategy].
func (f fitted) ProcessToolResults(results []messages.ToolOutput) nextstep.NextStep {
	return f.step(f.toolStrategy.ProcessToolResults(results))
}

// ProcessDelegationResult implements [strategy.Strategy].
func (f fitted) ProcessDelegationResult(out delegation.Output) nextstep.NextStep {
	return f.step(f.toolStrategy.ProcessDelegationResult(out))
}

// ProcessFailure implements [strategy.FailureHandler].
func (f fitted) ProcessFailure(failure nextstep.Failure) nextstep.NextStep {
	return f.step(f.toolStrategy.ProcessFailure(failure))
}
