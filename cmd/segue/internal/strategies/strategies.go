package main

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

// settings are what the flags say to a strategy.
type settings struct {
	system string
	bound  bool // the steps are bounded by the person: bounds on model calls that strategies have of their own are off
	noAsk  bool
}

// strategyNames lists the strategies, the usual one first.
func strategyNames() []string {
	names := builtin.Names()
	usual := slices.Index(names, completetask.Name)
	return slices.Concat([]string{completetask.Name}, names[:usual], names[usual+1:])
}

// strategySet makes all of them, since each may delegate to the others. In plan-revise-execute each
// step may choose whether it is planned in turn.
func strategySet(s settings) (strategy.Set, error) {
	specs := map[string]builtin.Spec{}
	for _, name := range builtin.Names() {
		own := map[string]any{}
		if name == pre.Name {
			own = map[string]any{
				"executor": completetask.Name, "executors": []string{completetask.Name, pre.Name},
				"answer": pre.AnswerSynthesize, "accept_prose": true,
			}
		}
		config, err := json.Marshal(s.put(own, partsOf(name)))
		if err != nil {
			return nil, err
		}
		specs[name] = builtin.Spec{Strategy: name, Config: config}
	}
	return builtin.Set(specs)
}

// put puts into the config of a strategy what of the settings it has a place for.
func (s settings) put(config map[string]any, has parts) map[string]any {
	if s.system != "" && has["system"] {
		config["system"] = s.system
	}
	if s.bound {
		for _, own := range []string{"max_model_calls", "max_tool_rounds", "max_steps"} {
			if has[own] && !has["executor"] { // there, the steps are those of a plan
				config[own] = -1
			}
		}
	}
	if s.noAsk && has["no_input"] {
		config["no_input"] = true
	}
	return config
}

// parts are the keys that the config of a strategy has.
type parts map[string]bool

// partsOf returns the keys of the config of a strategy.
func partsOf(name string) parts {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	found := parts{}
	if json.Unmarshal(builtin.Schema(name), &schema) == nil {
		for key := range schema.Properties {
			found[key] = true
		}
	}
	return found
}

// executor returns the key that says what the strategy hands its work on to; "" if it does all of
// it itself. Needed says that it hands on all of it.
func (p parts) executor() (key string, needed bool) {
	switch {
	case p["executor"]:
		return "executor", true
	case p["strategy"]:
		return "strategy", true
	case p["generator"]:
		return "generator", false
	default:
		return "", false
	}
}

// bound returns the key that says what tools executors may use.
func (p parts) bound() string {
	if p["step_tools"] {
		return "step_tools"
	}
	return "tools"
}

// fromAgent are the keys of configs that are said in an agent, and where.
var fromAgent = map[string]string{
	"model": "model", "system": "system", "tools": "tools", "step_tools": "tools",
	"executor": "children", "executors": "children", "strategy": "children", "generator": "children",
}

// membersOfConfig returns the members of the config of a strategy; none is an empty one.
func membersOfConfig(config json.RawMessage) (map[string]any, error) {
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

// strategyWords are the names of strategies, and the aliases.
func strategyWords() []string {
	return slices.Concat(strategyNames(), slices.Sorted(maps.Keys(builtin.Aliases())))
}

// realName returns the name that an alias stands for.
func realName(name string) string { return cmp.Or(builtin.Aliases()[name], name) }
