// Package strategies has the built-in strategies as the command line uses them: their names, the
// keys of their configs, and what flags say to all of them.
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

// Settings are what flags and options say to a strategy.
type Settings struct {
	System  string // the system prompt
	Bounded bool   // the run has limits of its own: the bounds on model calls that strategies have are off
	NoAsk   bool   // the model may not ask questions
}

// Names lists the strategies, the usual one first.
func Names() []string {
	names := builtin.Names()
	usual := slices.Index(names, completetask.Name)
	return slices.Concat([]string{completetask.Name}, names[:usual], names[usual+1:])
}

// Set makes all strategies, since each may delegate to the others. In plan-revise-execute each
// step may choose whether it is planned in turn.
func Set(s Settings) (strategy.Set, error) {
	specs := map[string]builtin.Spec{}
	for _, name := range builtin.Names() {
		own := map[string]any{}
		if name == pre.Name {
			own = map[string]any{
				"executor": completetask.Name, "executors": []string{completetask.Name, pre.Name},
				"answer": pre.AnswerSynthesize, "accept_prose": true,
			}
		}
		config, err := json.Marshal(s.Apply(own, KeysOf(name)))
		if err != nil {
			return nil, err
		}
		specs[name] = builtin.Spec{Strategy: name, Config: config}
	}
	return builtin.Set(specs)
}

// Apply puts into the config of a strategy what of the settings it has a place for.
func (s Settings) Apply(config map[string]any, has Keys) map[string]any {
	if s.System != "" && has["system"] {
		config["system"] = s.System
	}
	if s.Bounded {
		for _, own := range []string{"max_model_calls", "max_tool_rounds", "max_steps"} {
			if has[own] && !has["executor"] { // there, the steps are those of a plan
				config[own] = -1
			}
		}
	}
	if s.NoAsk && has["no_input"] {
		config["no_input"] = true
	}
	return config
}

// Keys are the keys that the config of a strategy has.
type Keys map[string]bool

// KeysOf returns the keys of the config of a strategy.
func KeysOf(name string) Keys {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	found := Keys{}
	if json.Unmarshal(builtin.Schema(name), &schema) == nil {
		for key := range schema.Properties {
			found[key] = true
		}
	}
	return found
}

// Executor returns the key that says what the strategy hands its work on to; "" if it does all of
// it itself. Needed says that it hands on all of it.
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

// Bound returns the key that says what tools executors may use.
func (k Keys) Bound() string {
	if k["step_tools"] {
		return "step_tools"
	}
	return "tools"
}

// SaidByAgent are the keys of configs that are said in an agent, and where.
var SaidByAgent = map[string]string{
	"model": "model", "system": "system", "tools": "tools", "step_tools": "tools",
	"executor": "children", "executors": "children", "strategy": "children", "generator": "children",
}

// ConfigMembers returns the members of the config of a strategy; none is an empty one.
func ConfigMembers(config json.RawMessage) (map[string]any, error) {
	members := map[string]any{}
	if len(config) == 0 {
		return members, nil
	}
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber() // large ones stay what they are
	if err := d.Decode(&members); err != nil {
		return nil, fmt.Errorf("the config of a strategy is a mapping: %w", err)
	}
	if members == nil { // null
		members = map[string]any{}
	}
	return members, nil
}

// Words are the names of strategies, and the aliases.
func Words() []string {
	return slices.Concat(Names(), slices.Sorted(maps.Keys(builtin.Aliases())))
}

// RealName returns the name that an alias stands for.
func RealName(name string) string { return cmp.Or(builtin.Aliases()[name], name) }
