// Package strategies makes the built-in strategies for the command line: their names, the keys of
// their configs, and the settings from flags.
package strategies

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/segue-go/segue/strategy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
)

// Settings are the settings of a strategy from flags and options.
type Settings struct {
	System  string // the system prompt
	Bounded bool   // the run has its own limits: turns off the strategies' bounds on model calls
	NoAsk   bool   // the model may not ask questions
}

// Names lists the strategies, the default first.
func Names() []string {
	names := builtin.Names()
	usual := slices.Index(names, completetask.Name)
	return slices.Concat([]string{completetask.Name}, names[:usual], names[usual+1:])
}

// Set makes all strategies, because each may delegate to the others. In plan-revise-execute each
// step may choose to be planned in turn.
func Set(s Settings) (strategy.Set, error) {
	specs := map[string]builtin.Spec{}
	for _, name := range builtin.Names() {
		own := Usual(name)
		if executors := UsualExecutors(name); executors != nil {
			own["executors"] = executors
		}
		config, err := json.Marshal(s.Apply(own, KeysOf(name)))
		if err != nil {
			return nil, err
		}
		specs[name] = builtin.Spec{Strategy: name, Config: config}
	}
	return builtin.Set(specs)
}

// Usual returns the members of the config of a strategy that the command sets where nobody says
// otherwise: the same for a flag as for a configuration.
func Usual(name string) map[string]any {
	if name == pre.Name {
		return map[string]any{"answer": pre.AnswerSynthesize, "accept_prose": true}
	}
	return map[string]any{}
}

// UsualExecutors returns the strategies that a step of a plan may choose where nobody names others,
// the usual one first; nil means that there is no choice.
func UsualExecutors(name string) []string {
	if name == pre.Name {
		return []string{completetask.Name, pre.Name}
	}
	return nil
}

// Apply adds to the config of a strategy the settings for which it has keys.
func (s Settings) Apply(config map[string]any, has Keys) map[string]any {
	if s.System != "" && has["system"] {
		config["system"] = s.System
	}
	if s.Bounded {
		for _, own := range []string{"max_model_calls", "max_tool_rounds", "max_steps"} {
			if has[own] && !has["executor"] { // with an executor, steps are those of a plan
				config[own] = -1
			}
		}
	}
	if s.NoAsk && has["no_input"] {
		config["no_input"] = true
	}
	return config
}

// Keys is the set of keys in the config of a strategy.
type Keys map[string]bool

// KeysOf returns the keys of the config of a strategy.
func KeysOf(name string) Keys {
	found := Keys{}
	for _, key := range builtin.Keys(name) {
		found[key] = true
	}
	return found
}

// Executor returns the key that names the executors of the strategy; "" if it does all work itself.
// needed says that it delegates all work.
func (k Keys) Executor() (key string, needed bool) {
	switch {
	case k["executor"]:
		return "executor", true
	case k["strategy"]:
		return "strategy", true
	case k["generator"]:
		return "generator", false
	default:
		return "", false
	}
}

// Bound returns the key that names the tools of executors.
func (k Keys) Bound() string {
	if k["step_tools"] {
		return "step_tools"
	}
	return "tools"
}

// SaidByAgent maps keys of configs to the keys of an agent that replace them.
var SaidByAgent = map[string]string{
	"model": "model", "system": "system", "tools": "tools", "step_tools": "tools",
	"executor": "children", "executors": "children", "executor_limits": "limits", "strategy": "children", "generator": "children",
}

// ConfigMembers returns the members of the config of a strategy; a missing config has none.
func ConfigMembers(config json.RawMessage) (map[string]any, error) {
	members := map[string]any{}
	if len(config) == 0 {
		return members, nil
	}
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber() // keeps large numbers exact
	if err := d.Decode(&members); err != nil {
		return nil, fmt.Errorf("the config of a strategy is a mapping: %w", err)
	}
	if members == nil { // null
		members = map[string]any{}
	}
	return members, nil
}

// Words returns the names of strategies and their aliases.
func Words() []string {
	return slices.Concat(Names(), slices.Sorted(maps.Keys(builtin.Aliases())))
}

// RealName returns the name that an alias stands for.
func RealName(name string) string { return cmp.Or(builtin.Aliases()[name], name) }
