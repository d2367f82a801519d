package config

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/react"
)

// checkFit finds keys of an agent that its strategy cannot use.
func (c *Config) checkFit(name string) []Problem {
	a, at := c.Agents[name], within("/agents", name)
	parts, executors := strategies.KeysOf(a.StrategyName()), a.children(asExecutor)
	var found []Problem
	for key, said := range map[string]bool{"model": a.Model != "", "system": a.System != ""} {
		if said && !a.asksModel() {
			found = append(found, c.problem(at+"/"+key, "%s asks no model itself; say it of the executor", a.StrategyName()))
		}
	}
	if !a.callsTools() && (len(a.children(asTool)) > 0 || a.StrategyName() == builtin.LLMOnly && (a.Tools != nil || len(a.Children) > 0)) {
		what := a.StrategyName()
		if len(executors) > 0 {
			what += " with an executor"
		}
		found = append(found, c.problem(at, "%s calls no tools; give them to another agent", what))
	}
	if a.StrategyName() == builtin.ToolFirst && a.Tools != nil && len(a.Tools)+len(a.Children)+len(a.MCP) == 0 {
		found = append(found, c.problem(at+"/tools", "%s must call a tool, and there is none", a.StrategyName()))
	}
	if len(executors) > 1 && !parts["executors"] {
		found = append(found, c.problem(at+"/children", "%s takes one executor", a.StrategyName()))
	}
	if len(executors) > 1 && !strings.Contains(string(a.Config), `"step_limits"`) {
		for _, other := range executors {
			if c.Agents[other].Limits != (Agent{}.Limits) {
				found = append(found, c.problem(at+"/children", "the executor %s has limits, and there is more than one executor: bound them all with config: {step_limits: …}", other))
			}
		}
	}
	return found
}

// checkStops finds an agent whose strategy ends the model's turns by stop sequences, and whose
// model, or a fallback of it, is asked by an API without any. Without tools it needs none.
func (c *Config) checkStops(name string) []Problem {
	a := c.Agents[name]
	if a.StrategyName() != react.Name || a.Tools != nil && len(a.Tools)+len(a.MCP)+len(a.children(asTool)) == 0 {
		return nil
	}
	models := []string{c.ModelOf(a)}
	for i := 0; i < len(models); i++ {
		m := c.Models[models[i]]
		if m.API == endpoint.Responses {
			return []Problem{c.problem(within("/agents", name)+"/strategy", "%s needs stop sequences, and the model %s has api: %s, which has none: choose another strategy, or api: %s",
				react.Name, models[i], m.API, endpoint.Chat)}
		}
		for _, other := range m.Fallbacks {
			if !slices.Contains(models, other) {
				models = append(models, other)
			}
		}
	}
	return nil
}

// checkBound finds tools that a child names but its parent forbids.
func (c *Config) checkBound(name string) []Problem {
	a := c.Agents[name]
	if a.Tools == nil {
		return nil
	}
	var found []Problem
	below := a.children(asExecutor)
	for i := 0; i < len(below); i++ {
		other := c.Agents[below[i]]
		for k, tool := range other.Tools {
			if !slices.Contains(a.Tools, tool) {
				at := within(within("/agents", below[i])+"/tools", k)
				found = append(found, c.problem(at, "%s hands work on to %s, and its tools do not allow %s", name, below[i], tool))
			}
		}
		for _, next := range other.next() {
			if !slices.Contains(below, next) {
				below = append(below, next)
			}
		}
	}
	return found
}

// checkStrategy checks the config of an agent against its strategy.
func (c *Config) checkStrategy(name string) []Problem {
	a, at := c.Agents[name], within("/agents", name)+"/config"
	members, err := strategies.ConfigMembers(a.Config)
	if err != nil {
		return []Problem{c.problem(at, "must be a mapping")}
	}
	var found []Problem
	for _, key := range sortedKeys(members) {
		if where, ok := strategies.SaidByAgent[key]; ok && strategies.KeysOf(a.StrategyName())[key] {
			found = append(found, c.problem(within(at, key), "say it in the agent: %s", where))
			delete(members, key)
		}
	}
	others := otherModels(members)
	for _, where := range sortedKeys(others) {
		if _, known := c.Models[others[where]]; !known {
			found = append(found, c.noSuch(at+where, "model", others[where], sortedKeys(c.Models)))
		}
	}
	found = append(found, c.checkTools(name, at, members)...)
	rest, err := json.Marshal(members)
	if err != nil {
		return append(found, c.problem(at, "%v", err))
	}
	return append(found, c.shape(at, strategySchemas()[a.StrategyName()], rest)...)
}

// otherModels returns the models that the config of a strategy names, besides that of the agent, by
// their JSON pointers in the config.
func otherModels(members map[string]any) map[string]string {
	found := map[string]string{}
	if critic, ok := members["critic_model"].(string); ok {
		found["/critic_model"] = critic
	}
	if compact, ok := members["compact"].(map[string]any); ok {
		if name, ok := compact["model"].(string); ok && name != "" {
			found["/compact/model"] = name
		}
	}
	return found
}

// checkTools finds names of tools in the config of an agent that no run has.
func (c *Config) checkTools(name, at string, members map[string]any) []Problem {
	if len(c.Agents[name].MCP) > 0 {
		return nil // the tools of MCP servers are not known before a run
	}
	known := slices.Concat(toolNames, c.Agents[name].children(asTool))
	var found []Problem
	for key, member := range map[string]string{"tool_choice": "name", "retrieval": "tool"} {
		inner, _ := members[key].(map[string]any)
		if tool, ok := inner[member].(string); ok && tool != "" && !slices.Contains(known, tool) {
			found = append(found, c.noSuch(within(within(at, key), member), "tool", tool, known))
		}
	}
	return found
}

// tryStrategy makes the strategy of an agent, to find errors that it reports about its config.
func (c *Config) tryStrategy(name string) []Problem {
	a, at := c.Agents[name], within("/agents", name)+"/config"
	members, err := strategies.ConfigMembers(a.Config)
	if err != nil {
		return []Problem{c.problem(at, "must be a mapping")}
	}
	config, err := json.Marshal(members)
	if err == nil {
		_, err = builtin.New(a.StrategyName(), config)
	}
	if err == nil {
		return nil
	}
	if wrong := c.tryConfig(a.StrategyName(), at, nil, members); len(wrong) > 0 {
		return wrong
	}
	return []Problem{c.problem(at, "%s", plainwords.Line(err))}
}

// tryConfig finds the errors that a strategy itself reports about its config. It tries each key
// alone, to find the key of each error.
func (c *Config) tryConfig(strategy, at string, way []string, members map[string]any) []Problem {
	var found []Problem
	for _, key := range sortedKeys(members) {
		own, value := append(slices.Clip(way), key), members[key]
		for _, name := range slices.Backward(own) {
			value = map[string]any{name: value}
		}
		config, err := json.Marshal(value)
		if err == nil {
			_, err = builtin.New(strategy, config)
		}
		if err == nil {
			continue
		}
		inner, _ := members[key].(map[string]any)
		within := within(at, key)
		if deeper := c.tryConfig(strategy, within, own, inner); key == "prompts" && len(deeper) > 0 {
			found = append(found, deeper...)
		} else {
			found = append(found, c.problem(within, "%s", plaintext.OneLine(goField.ReplaceAllString(err.Error(), ""))))
		}
	}
	return found
}

// goField matches the beginning of a strategy's error about its Config.
var goField = regexp.MustCompile(`^[a-z]+: [A-Z]\w*: `)
