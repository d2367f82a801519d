package config

import (
	"slices"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/tools"
)

// toolStrategy is implemented by every built-in strategy that offers tools of the run to its model.
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

// toolFilter is a strategy that offers only the named tools that its frame may use. It is for
// agents that name no tools: what they may use depends on their parent.
type toolFilter struct {
	toolStrategy
	names []string
}

// offerOnly returns a factory for strategies that offer only the named tools.
func offerOnly(factory func() strategy.Strategy, names []string) func() strategy.Strategy {
	return func() strategy.Strategy {
		made := factory()
		if s, ok := made.(toolStrategy); ok {
			return toolFilter{s, names}
		}
		return made
	}
}

// UseTools implements [strategy.ToolUser].
func (o toolFilter) UseTools(defs []tools.Definition) {
	offered := []tools.Definition{}
	for _, name := range o.names {
		if i := slices.IndexFunc(defs, func(d tools.Definition) bool { return d.Name == name }); i >= 0 {
			offered = append(offered, defs[i])
		}
	}
	o.toolStrategy.UseTools(offered)
}

// Bounds implements [strategy.Bounder].
func (o toolFilter) Bounds() strategy.Bounds {
	b := o.toolStrategy.Bounds()
	offered := []string{}
	for _, name := range o.names {
		if b.Offers == nil || slices.Contains(b.Offers, name) {
			offered = append(offered, name)
		}
	}
	b.Offers = offered
	return b
}

// Tools implements [strategy.ToolProvider], if the strategy does.
func (o toolFilter) Tools() []tools.Tool {
	if p, ok := o.toolStrategy.(strategy.ToolProvider); ok {
		return p.Tools()
	}
	return nil
}

// Names implements [strategy.Namer]: it hands off like the strategy, and what else that names is
// left to the parent.
func (o toolFilter) Names() strategy.Names {
	return strategy.Names{Handoffs: strategy.NamesOf(o.toolStrategy).Handoffs}
}

// InheritBranches implements [strategy.BranchInheritor], if the strategy does.
func (o toolFilter) InheritBranches(outs []strategy.BranchOutput) {
	if i, ok := o.toolStrategy.(strategy.BranchInheritor); ok {
		i.InheritBranches(outs)
	}
}

// Inherit implements [strategy.Inheritor], if the strategy does.
func (o toolFilter) Inherit(out delegation.Output) {
	if i, ok := o.toolStrategy.(strategy.Inheritor); ok {
		i.Inherit(out)
	}
}
