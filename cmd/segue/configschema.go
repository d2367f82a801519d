package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// node is a part of a JSON Schema.
type node map[string]any

// at returns the part that keys lead to.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		next, ok := n[key].(map[string]any)
		if !ok {
			return node{}
		}
		n = next
	}
	return n
}

// configSchema returns the JSON Schema of a configuration. Whole is that which is shipped: it says what each strategy can
// be told, which [configuration.check] finds out for itself, with the parts that an agent fills in left out.
func configSchema(whole bool) json.RawMessage {
	inferred := tools.New(tools.Definition{Name: "configuration"}, func(context.Context, configFile) (string, error) { return "", nil })
	var top node
	if err := json.Unmarshal(inferred.Definition().Parameters, &top); err != nil {
		return nil // it was made a moment ago
	}
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "The configuration of segue"
	model := top.at("properties", "models", "additionalProperties", "properties")
	model.at("policy")["description"] = model.at("policy")["description"].(string) + "; formats: " + strings.Join(markdownpolicy.Names(), ", ")
	agent := top.at("properties", "agents", "additionalProperties")
	has := agent.at("properties")
	has.at("strategy")["enum"] = strategyWords()
	has.at("config")["type"] = "object"
	has.at("tools", "items")["enum"] = toolNames
	has.at("children", "items", "properties", "as")["enum"] = []string{asTool, asExecutor}
	has.at("approval", "properties", "default")["enum"] = approvalWords
	has.at("approval", "properties", "tools", "additionalProperties")["enum"] = approvalWords
	if whole {
		model.at("api_key_env")["pattern"] = envPattern
		names := map[string]any{"pattern": namePattern}
		top.at("properties", "models")["propertyNames"] = names
		top.at("properties", "agents")["propertyNames"] = names
		agent["allOf"] = configsByStrategy()
	}
	text, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		return nil // it was JSON a moment ago
	}
	return text
}

// configsByStrategy say what the config of an agent holds, for each strategy.
func configsByStrategy() []any {
	var all []any
	for _, name := range builtin.Names() {
		var config node
		if err := json.Unmarshal(builtin.Schema(name), &config); err != nil {
			continue // a test shows that all are JSON
		}
		properties := config.at("properties")
		for key := range fromAgent {
			delete(properties, key)
		}
		words := []string{name}
		for alias, real := range builtin.Aliases() {
			if real == name {
				words = append(words, alias)
			}
		}
		slices.Sort(words)
		when := node{"properties": node{"strategy": node{"enum": words}}}
		if name != (agentConfig{}).strategy() {
			when["required"] = []string{"strategy"}
		}
		all = append(all, node{"if": when, "then": node{"properties": node{"config": config}}})
	}
	return all
}

// strategyWords are the names of strategies, and the aliases.
func strategyWords() []string {
	return slices.Concat(strategyNames(), sortedKeys(builtin.Aliases()))
}
