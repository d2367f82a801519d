package config

import (
	"bytes"
	_ "embed" // for segue.schema.json
	"encoding/json"
	"slices"
	"sync"

	"github.com/segue-go/segue/tools"
)

// shipped is the JSON Schema of a configuration. A test makes it.
//
//go:embed segue.schema.json
var shipped []byte

// Schema returns the JSON Schema of a configuration, for editors; it is the content of
// segue.schema.json. [Parse] finds everything that the schema finds, with its own messages.
func Schema() json.RawMessage { return bytes.TrimSpace(bytes.Clone(shipped)) }

// shippedSchema returns the compiled schema.
var shippedSchema = sync.OnceValues(func() (*tools.Schema, error) { return tools.CompileSchema(shipped) })

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

// shippedNode returns the schema that is shipped.
func shippedNode() (top node) {
	d := json.NewDecoder(bytes.NewReader(shipped))
	d.UseNumber()
	if d.Decode(&top) != nil {
		return node{} // cannot happen: a test compiles it
	}
	return top
}

// strategySchema returns the JSON Schema for the config of a strategy in a file. It omits keys that
// belong to the agent.
func strategySchema(name string) node {
	all, _ := shippedNode().at("properties", "agents", "additionalProperties")["allOf"].([]any)
	for _, one := range all {
		rule, _ := one.(map[string]any)
		if words, _ := node(rule).at("if", "properties", "strategy")["enum"].([]any); slices.Contains(words, any(name)) {
			return node(rule).at("then", "properties", "config")
		}
	}
	return node{}
}
