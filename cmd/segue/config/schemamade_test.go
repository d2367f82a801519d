package config

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/cmd/segue/internal/approve"
	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/llmclient"
	messagesapi "github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/completetask"
	pre "github.com/segue-go/segue/strategy/planreviseexecute"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/strategy/reasonactobserve"
	"github.com/segue-go/segue/strategy/reflection"
	"github.com/segue-go/segue/strategy/retry"
	"github.com/segue-go/segue/tools"
)

// Patterns of texts. They accept slightly more than [Parse] does, because schema readers have no
// common pattern for letters.
const (
	urlPattern  = `^$|^[hH][tT][tT][pP][sS]?://[^/?#@]+(/[^?#]*)?$`
	timePattern = `^$|^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	wordPattern = "[^\\s!-/:-@\\[-`{-~]"
)

// keepPattern is the form of Store.Keep.
const keepPattern = `^$|^always$|^[0-9]+[smhdw]$`

// schemaOf returns the JSON Schema of a configuration. With whole it is the published schema, which
// includes rules that [Config.check] checks itself, with its own messages.
func schemaOf(whole bool) json.RawMessage {
	top := inferredSchema()
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "The configuration of segue"
	model := top.at("properties", "models", "additionalProperties", "properties")
	model.at("api")["enum"] = endpoint.APIs
	model.at("policy")["description"] = model.at("policy")["description"].(string) + "; formats: " + strings.Join(markdownpolicy.Names(), ", ")
	model.at("limits", "properties", "retries")["type"] = "integer" // and not null
	thinkingWords(model)
	agent := top.at("properties", "agents", "additionalProperties")
	has := agent.at("properties")
	has.at("strategy")["enum"] = strategies.Words()
	has.at("config")["type"] = "object"
	has.at("tools", "items")["enum"] = toolNames
	has.at("children", "items", "properties", "as")["enum"] = []string{asTool, asExecutor}
	has.at("approval", "properties", "default")["enum"] = approve.Words
	has.at("approval", "properties", "tools", "additionalProperties")["enum"] = approve.Words
	has.at("approval", "properties", "paths", "additionalProperties", "additionalProperties")["enum"] = approve.Words
	top.at("properties", "mcp", "additionalProperties", "properties", "protocol")["enum"] = mcp.SupportedProtocolVersions()
	profile := top.at("properties", "profiles", "additionalProperties", "properties")
	profile.at("api")["enum"] = endpoint.APIs
	profile.at("strategy")["enum"] = strategies.Words()
	profile.at("approve")["enum"] = approve.Words
	bounded(top)
	if whole {
		top.complete()
	}
	text, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		return nil // cannot happen: it was valid JSON above
	}
	return text
}

// inferredSchema returns the keys of a configuration, with their types.
func inferredSchema() node {
	inferred := tools.New(tools.Definition{Name: "configuration"}, func(context.Context, File) (string, error) { return "", nil })
	var top node
	if err := json.Unmarshal(inferred.Definition().Parameters, &top); err != nil {
		return node{} // cannot happen: it was made above
	}
	return top
}

// complete adds the rules that [Config.check] checks itself.
func (n node) complete() {
	models, agents := n.at("properties", "models"), n.at("properties", "agents")
	models["propertyNames"] = node{"pattern": namePattern}
	agents["propertyNames"] = node{"pattern": namePattern, "not": node{"enum": toolNames}}
	agents["minProperties"] = 1
	model := models.at("additionalProperties", "properties")
	model.at("api_key_env")["pattern"] = "^$|" + envPattern
	model.at("base_url")["pattern"] = urlPattern
	model.at("policy")["pattern"] = policyPattern()
	model.at("limits", "properties", "timeout")["pattern"] = timePattern
	model.at("limits", "properties", "idle_timeout")["pattern"] = "^" + endpoint.NoTimeout + "$|" + timePattern
	n.at("properties", "store", "properties", "keep")["pattern"] = keepPattern
	large := n.at("properties", "large_results", "properties")
	large.at("keep")["minimum"], large.at("max")["minimum"] = 0, 0
	large.at("show")["anyOf"] = []node{{"const": 0}, {"minimum": leastShown}}
	completeThinking(models.at("additionalProperties"))
	agent := agents.at("additionalProperties")
	agent.at("properties", "tools")["uniqueItems"] = true
	agent.at("properties", "children")["uniqueItems"] = true
	agent["allOf"] = configsByStrategy()
	n.completeMCP()
	agent.at("properties", "mcp")["uniqueItems"] = true
	n.at("properties", "protected", "items")["minLength"] = 1
	profiles := n.at("properties", "profiles")
	profiles["propertyNames"] = node{"pattern": namePattern}
	profile := profiles.at("additionalProperties", "properties")
	profile.at("base_url")["pattern"] = urlPattern
	profile.at("policy")["pattern"] = policyPattern()
	profile.at("max_steps")["not"] = node{"const": 0}
	profile.at("protect", "items")["minLength"] = 1
	rule := n.at("properties", "rules", "items")
	rule.at("properties", "source")["minLength"] = 1
	rule.at("properties", "pattern")["minLength"] = 1
	rule.at("properties", "keywords")["minItems"] = 1
	rule.at("properties", "keywords", "items")["pattern"] = wordPattern
	rule["oneOf"] = []node{{"required": []string{"source"}}, {"required": []string{"keywords"}}, {"required": []string{"pattern"}}}
}

// completeMCP adds the rules of MCP servers.
func (n node) completeMCP() {
	servers := n.at("properties", "mcp")
	servers["propertyNames"] = node{"pattern": namePattern}
	server := servers.at("additionalProperties")
	has := server.at("properties")
	has.at("url")["pattern"] = urlPattern
	has.at("prefix")["pattern"] = prefixPattern
	has.at("env", "items")["pattern"] = variablePattern
	has.at("header_env")["propertyNames"] = node{"pattern": headerPattern}
	has.at("header_env", "additionalProperties")["pattern"] = headerValuePattern
	has.at("timeout")["pattern"] = timePattern
	has.at("connect_timeout")["pattern"] = timePattern
	server["oneOf"] = []node{{"required": []string{"command"}}, {"required": []string{"url"}}}
}

// policyPattern matches names of text formats, separated by commas.
func policyPattern() string {
	name := `\s*(` + strings.Join(markdownpolicy.Names(), "|") + `)\s*`
	return "^$|^" + name + "(," + name + ")*$"
}

// configsByStrategy returns the schema of an agent for each strategy.
func configsByStrategy() []any {
	var all []any
	for _, name := range builtin.Names() {
		words := []string{name}
		for alias, real := range builtin.Aliases() {
			if real == name {
				words = append(words, alias)
			}
		}
		slices.Sort(words)
		when := node{"properties": node{"strategy": node{"enum": words}}}
		if name != (Agent{}).StrategyName() {
			when["required"] = []string{"strategy"}
		}
		then := node{"config": madeStrategySchema(name)}
		if key, _ := strategies.KeysOf(name).Executor(); key == "" {
			then["children"] = node{"items": node{"properties": node{"as": node{"const": asTool}}}}
		}
		if name == builtin.LLMOnly {
			then["tools"], then["children"] = false, node{"maxItems": 0}
		}
		all = append(all, node{"if": when, "then": node{"properties": then}})
	}
	return all
}

// madeStrategySchema returns the JSON Schema for the config of a strategy in a file. Besides types it
// has the allowed words and bounds. It omits keys that belong to the agent.
func madeStrategySchema(name string) node {
	var config node
	if err := json.Unmarshal(builtin.Schema(name), &config); err != nil {
		return node{} // cannot happen: a test checks that all are JSON
	}
	properties := config.at("properties")
	for key := range strategies.SaidByAgent {
		delete(properties, key)
	}
	for key, words := range choicesOf(name) {
		if properties[key] != nil {
			properties.at(key)["enum"] = words
		}
	}
	choice := properties.at("tool_choice")
	choice.at("properties", "mode")["enum"] = words(llmclient.ChooseAuto, llmclient.ChooseNone, llmclient.ChooseRequired, llmclient.ChooseTool)
	choice.at("properties", "name")["minLength"] = 1
	if name == builtin.ToolFirst {
		choice.at("properties", "mode")["enum"] = words(llmclient.ChooseRequired, llmclient.ChooseTool)
		choice["required"] = []string{"mode"}
	}
	choice["if"] = node{"properties": node{"mode": node{"const": llmclient.ChooseTool}}, "required": []string{"mode"}}
	choice["then"] = node{"required": []string{"name"}}
	choice["else"] = node{"properties": node{"name": false}}
	handoff := properties.at("handoffs", "items")
	handoff.at("properties", "history")["enum"] = words(completetask.HistoryAll, completetask.HistoryGoal, completetask.HistoryLast)
	handoff.at("properties", "strategy")["minLength"] = 1
	handoff["required"] = []string{"strategy"}
	for _, key := range leastOf(name) {
		properties.at(key)["minimum"] = 0
	}
	properties.at("search", "properties", "results")["minimum"] = 0
	properties.at("search", "properties", "pinned")["uniqueItems"] = true
	properties.at("search", "properties", "name")["pattern"] = "^[A-Za-z0-9_-]{0,64}$"
	bounded(config)
	return config
}

// choicesOf returns the keys of a strategy's config that accept only certain words, with these
// words.
func choicesOf(name string) map[string][]string {
	choices := map[string][]string{
		"tool_format":       words(llmclient.ToolsNative, llmclient.ToolsText),
		"on_length":         words(completetask.LengthFail, completetask.LengthAccept, completetask.LengthContinue),
		"on_empty":          words(completetask.EmptyAccept, completetask.EmptyAsk, completetask.EmptyFail),
		"on_limit":          words(completetask.LimitConclude, completetask.LimitFail),
		"on_refused_choice": words(completetask.RefusedAuto, completetask.RefusedFail),
		"evaluation":        words(pre.EvaluateByModel, pre.EvaluateNever), // EvaluateByFunc is only for Go programs
		"results":           words(pre.ResultsAuto, pre.ResultsOfDependencies, pre.ResultsOfAll),
		"on_too_long":       words(pre.TooLongCut, pre.TooLongRefuse),
		"answer":            words(pre.AnswerLast, pre.AnswerSynthesize),
		"on_rejected":       words(reflection.RejectedAccept, reflection.RejectedFail),
		"detector":          words(retry.DetectError, retry.DetectStrict),
	}
	switch name {
	case pre.Name, builtin.PlanAndExecute:
		choices["on_empty"] = words(pre.EmptyFail, pre.EmptyAccept)
	case retry.Name:
		choices["on_empty"] = words(retry.EmptyFail, retry.EmptyAccept)
	case completetask.Name, builtin.ToolFirst, builtin.LLMOnly:
		choices["answer"] = words(completetask.AnswerAuto, completetask.AnswerNative, completetask.AnswerTool)
	case react.Name:
		choices["on_limit"] = words(react.LimitConclude, react.LimitFail)
	case reasonactobserve.Name:
		choices["on_limit"] = words(reasonactobserve.LimitConclude, reasonactobserve.LimitAccept, reasonactobserve.LimitFail)
	}
	return choices
}

// leastOf returns the keys of a strategy's config that cannot be negative.
func leastOf(name string) []string {
	switch name {
	case pre.Name, builtin.PlanAndExecute:
		return []string{"max_steps"}
	case reflection.Name:
		return []string{"max_iterations"}
	default:
		return nil
	}
}

// words returns the texts of choices.
func words[C ~string](choices ...C) []string {
	texts := make([]string, len(choices))
	for i, c := range choices {
		texts[i] = string(c)
	}
	return texts
}

// bounded adds the bounds of an int64 to each integer of a schema.
func bounded(schema node) {
	if schema["type"] == "integer" {
		for bound, most := range map[string]json.Number{"minimum": "-9223372036854775808", "maximum": "9223372036854775807"} {
			if schema[bound] == nil {
				schema[bound] = most
			}
		}
	}
	for _, part := range schema {
		if inner, ok := part.(map[string]any); ok {
			bounded(inner)
		}
	}
}

// thinkingWords adds the words of settings to the schema of a model's keys.
func thinkingWords(model node) {
	model.at("summary")["enum"] = []string{"auto", "concise", "detailed"}
	model.at("cache")["enum"] = []messages.Cache{messages.Cache5m, messages.Cache1h}
	thinking := model.at("thinking", "properties")
	thinking.at("mode")["enum"] = []messagesapi.ThinkingMode{
		messagesapi.ThinkAdaptive, messagesapi.ThinkEnabled, messagesapi.ThinkBetween, messagesapi.ThinkDisabled,
	}
	thinking.at("display")["enum"] = []string{"summarized", "omitted"}
}

// completeThinking adds the rules of [Config.checkThinking] to the schema of a model.
func completeThinking(model node) {
	unlessAPI := func(api string, keys ...string) node {
		none := node{}
		for _, key := range keys {
			none[key] = false
		}
		return node{"if": node{"required": []string{"api"}, "properties": node{"api": node{"const": api}}}, "else": node{"properties": none}}
	}
	model["allOf"] = []node{unlessAPI(endpoint.Responses, "summary"), unlessAPI(endpoint.Anthropic, "thinking", "cache")}
	mode := func(modes ...messagesapi.ThinkingMode) node {
		return node{"properties": node{"mode": node{"enum": modes}}}
	}
	model.at("properties", "thinking")["allOf"] = []node{
		{
			"if":   mode(messagesapi.ThinkEnabled),
			"then": node{"required": []string{"budget"}, "properties": node{"budget": node{"minimum": 1024}}},
			"else": node{"properties": node{"budget": node{"const": 0}}},
		},
		{"if": mode(messagesapi.ThinkAdaptive, messagesapi.ThinkEnabled), "else": node{"properties": node{"display": false}}},
	}
}

// What is taken from the schema that is shipped is what was made for it.
func TestSchema_parts(t *testing.T) {
	for _, name := range builtin.Names() {
		made, err := json.Marshal(madeStrategySchema(name))
		require.NoError(t, err)
		taken, err := json.Marshal(strategySchema(name))
		require.NoError(t, err)
		require.JSONEq(t, string(made), string(taken), name)
	}
}
