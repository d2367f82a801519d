package config

import (
	"bytes"
	"context"
	_ "embed" // for segue.schema.json
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// Patterns of texts. They accept slightly more than [Parse] does, because schema readers have no
// common pattern for letters.
const (
	urlPattern  = `^$|^[hH][tT][tT][pP][sS]?://[^/?#@]+(/[^?#]*)?$`
	timePattern = `^$|^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	wordPattern = "[^\\s!-/:-@\\[-`{-~]"
)

// compiledSchema compiles a schema once.
type compiledSchema func() (*tools.Schema, error)

// The schemas of configurations, and of the config of each strategy. They never change.
var (
	looseSchema = compiledSchema(sync.OnceValues(func() (*tools.Schema, error) { return tools.CompileSchema(schemaOf(false)) }))
	wholeSchema = compiledSchema(sync.OnceValues(func() (*tools.Schema, error) { return tools.CompileSchema(shipped) }))

	strategySchemas = sync.OnceValue(func() map[string]compiledSchema {
		schemas := map[string]compiledSchema{}
		for _, name := range builtin.Names() {
			schemas[name] = sync.OnceValues(func() (*tools.Schema, error) {
				text, err := json.Marshal(strategySchema(name))
				if err != nil {
					return nil, err
				}
				return tools.CompileSchema(text)
			})
		}
		return schemas
	})
)

// node is a part of a JSON Schema.
type node map[string]any

// at returns the part at a path of keys.
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

// shipped is what schemaOf(true) returns; making it takes longer than compiling it.
//
//go:embed segue.schema.json
var shipped []byte

// Schema returns the JSON Schema of a configuration, for editors; it is the content of
// segue.schema.json. [Parse] finds everything that the schema finds, with its own messages.
func Schema() json.RawMessage { return bytes.TrimSpace(bytes.Clone(shipped)) }

// schemaOf returns the JSON Schema of a configuration. With whole it is the published schema, which
// includes rules that [Config.check] checks itself, with its own messages.
func schemaOf(whole bool) json.RawMessage {
	top := inferredSchema()
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "The configuration of segue"
	model := top.at("properties", "models", "additionalProperties", "properties")
	model.at("api")["enum"] = APIs
	model.at("policy")["description"] = model.at("policy")["description"].(string) + "; formats: " + strings.Join(markdownpolicy.Names(), ", ")
	model.at("limits", "properties", "retries")["type"] = "integer" // and not null
	thinkingWords(model)
	agent := top.at("properties", "agents", "additionalProperties")
	has := agent.at("properties")
	has.at("strategy")["enum"] = strategies.Words()
	has.at("config")["type"] = "object"
	has.at("tools", "items")["enum"] = toolNames
	has.at("children", "items", "properties", "as")["enum"] = []string{asTool, asExecutor}
	has.at("approval", "properties", "default")["enum"] = ApprovalWords
	has.at("approval", "properties", "tools", "additionalProperties")["enum"] = ApprovalWords
	has.at("approval", "properties", "paths", "additionalProperties", "additionalProperties")["enum"] = ApprovalWords
	top.at("properties", "mcp", "additionalProperties", "properties", "protocol")["enum"] = mcp.SupportedProtocolVersions()
	profile := top.at("properties", "profiles", "additionalProperties", "properties")
	profile.at("api")["enum"] = APIs
	profile.at("strategy")["enum"] = strategies.Words()
	profile.at("approve")["enum"] = ApprovalWords
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
	model.at("limits", "properties", "idle_timeout")["pattern"] = "^" + NoTimeout + "$|" + timePattern
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
		then := node{"config": strategySchema(name)}
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
