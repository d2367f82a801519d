package main

import (
	"maps"
	"slices"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
)

// settings are what the flags say to a strategy.
type settings struct {
	model  string
	system string
	bound  bool // the steps are bounded by the person: the strategy's own bound is off
}

// builtin is a strategy that the command line offers.
type builtin struct {
	table *strategy.Table
	make  func(settings) func() strategy.Strategy
}

// builtins are the strategies by name.
func builtins() map[string]builtin {
	return map[string]builtin{
		completetask.Name: {table: completetask.Table, make: completeTask},
	}
}

// strategyNames lists them, the usual one first.
func strategyNames() []string {
	names := slices.Sorted(maps.Keys(builtins()))
	usual := slices.Index(names, completetask.Name)
	return slices.Concat([]string{completetask.Name}, names[:usual], names[usual+1:])
}

// strategySet makes all of them, since each may delegate to the others.
func strategySet(s settings) strategy.Set {
	set := strategy.Set{}
	for name, b := range builtins() {
		set[name] = b.make(s)
	}
	return set
}

func completeTask(s settings) func() strategy.Strategy {
	cfg := completetask.Config{Model: s.model, System: s.system}
	if s.bound {
		cfg.MaxModelCalls = -1
	}
	return completetask.New(cfg)
}
