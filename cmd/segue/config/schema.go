package config

import (
	"bytes"
	_ "embed" // for segue.schema.json
	"encoding/json"
	"slices"
	"sync"

	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// shipped is the JSON Schema of a configuration. A test makes it.
//
//go:embed segue.schema.json
var shipped []byte

// Schema returns the JSON Schema of a configuration, for editors; it is the content of
// segue.schema.json. [Parse] finds everything that the schema finds, with its own messages.
func Schema() json.RawMessage { return bytes.TrimSpace(bytes.Clone(shipped)) }

// compiledSchema compiles a schema once.
type compiledSchema func() (*tools.Schema, error)

// The schemas of configurations, and of the config of each strategy. They never change.
var (
	wholeSchema = compiledSchema(sync.OnceValues(func() (*tools.Schema, error) { return tools.CompileSchema(shipped) }))
	looseSchema = compiledSchema(sync.OnceValues(func() (*tools.Schema, error) { return looseNode().compile() }))

	strategySchemas = sync.OnceValue(func() map[string]compiledSchema {
		schemas := map[string]compiledSchema{}
		for _, name := range builtin.Names() {
			schemas[name] = sync.OnceValues(func() (*tools.Schema, error) { return strategySchema(name).compile() })
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

func (n node) compile() (*tools.Schema, error) {
	text, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return tools.CompileSchema(text)
}

// wholeNode returns the schema that is shipped.
func wholeNode() (top node) {
	d := json.NewDecoder(bytes.NewReader(shipped))
	d.UseNumber()
	if d.Decode(&top) != nil {
		return node{} // cannot happen: a test compiles it
	}
	return top
}

// looseNode returns the schema without the rules that [Config.check] checks itself, with its own
// messages: what is left are keys, types and words.
func looseNode() node {
	top := wholeNode()
	top.loosen()
	return top
}

func (n node) loosen() {
	if len(n) == 0 {
		return
	}
	for _, rule := range []string{
		"pattern", "propertyNames", "uniqueItems", "minItems", "maxItems", "minLength", "minProperties", "minimum", "allOf", "anyOf", "oneOf", "not",
	} {
		delete(n, rule)
	}
	if n["type"] == "integer" {
		n["minimum"], n["maximum"] = json.Number("-9223372036854775808"), json.Number("9223372036854775807")
	}
	for name := range n.at("properties") {
		n.at("properties", name).loosen()
	}
	n.at("items").loosen()
	n.at("additionalProperties").loosen()
}

// strategySchema returns the JSON Schema for the config of a strategy in a file. It omits keys that
// belong to the agent.
func strategySchema(name string) node {
	all, _ := wholeNode().at("properties", "agents", "additionalProperties")["allOf"].([]any)
	for _, one := range all {
		rule, _ := one.(map[string]any)
		if words, _ := node(rule).at("if", "properties", "strategy")["enum"].([]any); slices.Contains(words, any(name)) {
			return node(rule).at("then", "properties", "config")
		}
	}
	return node{}
}
