package config

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
	"github.com/segue-go/segue/strategy/workflow"
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
// includes rules that [checker.check] tells in its own words.
func schemaOf(whole bool) json.RawMessage {
	top := inferredSchema()
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "The configuration of segue"
	policy := top.place("/models/*/policy")
	policy["description"] = policy["description"].(string) + "; formats: " + strings.Join(markdownpolicy.Names(), ", ")
	top.add(wordsOfKeys)
	bounded(top)
	if whole {
		top.add(rulesOfKeys())
	}
	text, err := json.MarshalIndent(top, "", "  ")
	if err != nil {
		return nil // cannot happen: it was valid JSON above
	}
	return text
}

// place returns the schema of the values at a path, where * is any key.
func (n node) place(path string) node {
	for _, part := range strings.Split(path, "/")[1:] {
		n = n.below(part)
	}
	return n
}

func (n node) add(rules map[string]node) {
	for path, rule := range rules {
		maps.Copy(n.place(path), rule)
	}
}

// wordsOfKeys are the words and types of values, by their paths.
var wordsOfKeys = map[string]node{
	"/models/*/api":                {"enum": endpoint.APIs},
	"/models/*/limits/retries":     {"type": "integer"}, // and not null
	"/models/*/summary":            {"enum": []string{"auto", "concise", "detailed"}},
	"/models/*/cache":              {"enum": []messages.Cache{messages.Cache5m, messages.Cache1h}},
	"/models/*/thinking/display":   {"enum": []string{"summarized", "omitted"}},
	"/models/*/thinking/mode":      {"enum": []messagesapi.ThinkingMode{messagesapi.ThinkAdaptive, messagesapi.ThinkEnabled, messagesapi.ThinkBetween, messagesapi.ThinkDisabled}},
	"/agents/*/strategy":           {"enum": strategies.Words()},
	"/agents/*/config":             {"type": "object"},
	"/agents/*/tools/*":            {"enum": toolNames},
	"/agents/*/children/*/as":      {"enum": []string{asTool, asExecutor}},
	"/agents/*/approval/default":   {"enum": approve.Words},
	"/agents/*/approval/tools/*":   {"enum": approve.Words},
	"/agents/*/approval/paths/*/*": {"enum": approve.Words},
	"/mcp/*/protocol":              {"enum": mcp.SupportedProtocolVersions()},
	"/profiles/*/api":              {"enum": endpoint.APIs},
	"/profiles/*/strategy":         {"enum": strategies.Words()},
	"/profiles/*/approve":          {"enum": approve.Words},
}

// rulesOfKeys are the rules that [checker.check] tells in its own words, by the paths of values.
func rulesOfKeys() map[string]node {
	pattern := func(form string) node { return node{"pattern": form} }
	names := node{"propertyNames": pattern(namePattern)}
	unlessAPI := func(api string, keys ...string) node {
		none := node{}
		for _, key := range keys {
			none[key] = false
		}
		return node{"if": node{"required": []string{"api"}, "properties": node{"api": node{"const": api}}}, "else": node{"properties": none}}
	}
	mode := func(modes ...messagesapi.ThinkingMode) node {
		return node{"properties": node{"mode": node{"enum": modes}}}
	}
	oneOf := func(keys ...string) []node {
		var all []node
		for _, key := range keys {
			all = append(all, node{"required": []string{key}})
		}
		return all
	}
	return map[string]node{
		"/models":                       names,
		"/models/*":                     {"allOf": []node{unlessAPI(endpoint.Responses, "summary"), unlessAPI(endpoint.Anthropic, "thinking", "cache")}},
		"/models/*/api_key_env":         pattern("^$|" + envPattern),
		"/models/*/base_url":            pattern(urlPattern),
		"/models/*/policy":              pattern(policyPattern()),
		"/models/*/limits/timeout":      pattern(timePattern),
		"/models/*/limits/idle_timeout": pattern("^" + endpoint.NoTimeout + "$|" + timePattern),
		"/models/*/thinking": {"allOf": []node{
			{
				"if":   mode(messagesapi.ThinkEnabled),
				"then": node{"required": []string{"budget"}, "properties": node{"budget": node{"minimum": 1024}}},
				"else": node{"properties": node{"budget": node{"const": 0}}},
			},
			{"if": mode(messagesapi.ThinkAdaptive, messagesapi.ThinkEnabled), "else": node{"properties": node{"display": false}}},
		}},
		"/agents":                {"propertyNames": node{"pattern": namePattern, "not": node{"enum": toolNames}}, "minProperties": 1},
		"/agents/*":              {"allOf": configsByStrategy()},
		"/agents/*/tools":        {"uniqueItems": true},
		"/agents/*/children":     {"uniqueItems": true},
		"/agents/*/mcp":          {"uniqueItems": true},
		"/mcp":                   names,
		"/mcp/*":                 {"oneOf": oneOf("command", "url")},
		"/mcp/*/url":             pattern(urlPattern),
		"/mcp/*/prefix":          pattern(prefixPattern),
		"/mcp/*/env/*":           pattern(variablePattern),
		"/mcp/*/header_env":      {"propertyNames": pattern(headerPattern)},
		"/mcp/*/header_env/*":    pattern(headerValuePattern),
		"/mcp/*/timeout":         pattern(timePattern),
		"/mcp/*/connect_timeout": pattern(timePattern),
		"/store/keep":            pattern(keepPattern),
		"/large_results/keep":    {"minimum": 0},
		"/large_results/max":     {"minimum": 0},
		"/large_results/show":    {"anyOf": []node{{"const": 0}, {"minimum": leastShown}}},
		"/protected/*":           {"minLength": 1},
		"/profiles":              names,
		"/profiles/*/base_url":   pattern(urlPattern),
		"/profiles/*/policy":     pattern(policyPattern()),
		"/profiles/*/max_steps":  {"not": node{"const": 0}},
		"/profiles/*/protect/*":  {"minLength": 1},
		"/rules/*":               {"oneOf": oneOf("source", "keywords", "pattern")},
		"/rules/*/source":        {"minLength": 1},
		"/rules/*/pattern":       {"minLength": 1},
		"/rules/*/keywords":      {"minItems": 1},
		"/rules/*/keywords/*":    pattern(wordPattern),
	}
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

// policyPattern matches names of text formats, separated by commas, or the word for those that are
// found out.
func policyPattern() string {
	name := `\s*(` + strings.Join(markdownpolicy.Names(), "|") + `)\s*`
	return "^$|^" + PolicyAuto + "$|^" + name + "(," + name + ")*$"
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

// madeStrategySchema returns the JSON Schema for the config of a strategy in a file. Besides types
// it has the allowed words and bounds. It omits keys that belong to the agent.
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
	for _, part := range []node{properties.at("parts", "items"), properties.at("part"), properties.at("reduce"), properties.at("judge"), properties.at("router")} {
		delete(part.at("properties"), "model") // it is that of the agent
		part.at("properties", "on_failure")["enum"] = words(workflow.FailureStop, workflow.FailureContinue)
		part.at("properties", "name")["pattern"] = "^[A-Za-z0-9_-]{0,40}$"
		part.at("properties", "retries")["minimum"] = 0
	}
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
	case workflow.NameLoop:
		return []string{"max_rounds"}
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

// The schema that is shipped is that of the code, and says what the code says.
func TestConfig_schema(t *testing.T) {
	if *rewrite {
		require.NoError(t, os.WriteFile("segue.schema.json", append(schemaOf(true), '\n'), 0o644))
		return
	}
	require.Equal(t, string(schemaOf(true))+"\n", string(shipped), "write it anew: make generate")
	schema, err := tools.CompileSchema(shipped)
	require.NoError(t, err)
	for _, name := range strategies.Words() {
		require.NoError(t, schema.Check(`{"agents":{"a":{"strategy":"`+name+`","config":{}}}}`), name)
		require.Error(t, schema.Check(`{"agents":{"a":{"strategy":"`+name+`","config":{"nonsense":1}}}}`), name)
	}
	for _, wrong := range []string{
		`{}`, `{"agents":{"a":{"config":{"max_model_calls":"x"}}}}`, `{"agents":{"a b":{}}}`, `{"agents":{"a":{"strategy":"x"}}}`,
		`{"agents":{"a":{}},"models":{"m":{"model":"x","api_key_env":"sk-1"}}}`, `{"agents":{"a":{"tools":["rm"]}}}`,
	} {
		require.Error(t, schema.Check(wrong), wrong)
	}
	for _, name := range builtin.Names() {
		require.NotEmpty(t, strategies.KeysOf(name), name)
	}
}

// TestConfig_docs holds docs/configuration.md against the code: its examples can be used, and it
// names every key.
func TestConfig_docs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	require.NoError(t, err)
	schema, err := tools.CompileSchema(schemaOf(true))
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.GreaterOrEqual(t, len(examples), 2)
	fixture, err := os.ReadFile(filepath.Join("..", "testdata", "segue.yaml"))
	require.NoError(t, err)
	for _, example := range append(examples, []string{"", string(fixture)}) {
		sound(t, example[1])
		value, _, problems := readYAML([]byte(example[1]))
		require.Empty(t, problems)
		document, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, schema.Check(string(document)))
	}
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, program)
	compiled, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	require.Contains(t, string(compiled), string(program[1]))
	var top map[string]any
	require.NoError(t, json.Unmarshal(schemaOf(false), &top))
	for _, key := range keysOf(top) {
		require.Contains(t, examples[0][1], key+":", "the first example shows every key")
	}
}

// keysOf returns the keys that a schema knows.
func keysOf(schema map[string]any) []string {
	var keys []string
	for name, part := range schema {
		inner, ok := part.(map[string]any)
		if !ok {
			continue
		}
		if name == "properties" {
			keys = append(keys, sortedKeys(inner)...)
		}
		keys = append(keys, keysOf(inner)...)
	}
	return keys
}
