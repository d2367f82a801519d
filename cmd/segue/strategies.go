package main

import (
	"maps"
	"slices"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// settings are what the flags say to a strategy.
type settings struct {
	system string
	bound  bool // the steps are bounded by the person: bounds on model calls that strategies have of their own are off
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
		pre.Name:          {table: pre.Table, make: planReviseExecute},
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
	cfg := completetask.Config{System: s.system}
	if s.bound {
		cfg.MaxModelCalls = -1
	}
	return completetask.New(cfg)
}

// planReviseExecute lets each step choose whether it is planned in turn.
func planReviseExecute(s settings) func() strategy.Strategy {
	return pre.New(pre.Config{
		System:      s.system,
		Executor:    completetask.Name,
		Executors:   []string{completetask.Name, pre.Name},
		Answer:      pre.AnswerSynthesize,
		AcceptProse: true,
	})
}

// told reports whether a state shows in any progress. What strategies do in the others shows by itself.
func told(s strategy.State) bool {
	switch s {
	case pre.NeedsPlan, pre.EvaluatingPlan, pre.ExecutingStep, pre.RevisingPlan, pre.Synthesizing:
		return true
	default:
		return false
	}
}
