package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/prove"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// everything is a configuration with a value for each key that there is.
const everything = `{
"models": {
	"a": {"model": "x", "base_url": "http://h/v1", "api_key_env": "K", "policy": "hermes, fenced", "limits": {"requests_per_minute": 1, "retries": 1, "timeout": "1m30s"}, "fallbacks": ["b"], "effort": "low"},
	"b": {"model": "y"},
	"c": {"model": "z", "api": "responses", "summary": "auto"},
	"d": {"model": "z", "api": "anthropic", "thinking": {"mode": "enabled", "budget": 2000, "display": "omitted"}, "cache": "1h"}
},
"agents": {
	"planner": {"strategy": "plan-revise-execute", "model": "a", "system": "s", "tools": ["read_file", "ask_user"], "children": [{"agent": "worker", "as": "executor"}],
		"config": {"evaluation": "never", "max_steps": 3, "step_limits": {"steps": 1}, "results": "all", "answer": "last", "accept_prose": true, "prompts": {"plan": "x"}}},
	"worker": {"model": "a", "description": "d", "tools": ["read_file"], "children": [{"agent": "judge", "as": "tool"}],
		"config": {"max_model_calls": 2, "tool_choice": {"mode": "required"}, "tool_format": "native", "temperature": 0.5, "schema": {"name": "n", "schema": {"type": "object"}}, "on_limit": "fail", "on_length": "accept", "on_empty": "ask", "on_refused_choice": "auto"}},
	"judge": {"strategy": "reflection", "description": "d", "model": "b", "config": {"max_iterations": 2, "critic_model": "a", "json_critique": true, "on_rejected": "fail", "limits": {"steps": 3}},
		"limits": {"steps": 3}, "approval": {"default": "ask", "tools": {"read_file": "always"}}},
	"caller": {"strategy": "tool-first", "model": "a", "config": {"tool_choice": {"mode": "tool", "name": "read_file"}}},
	"again": {"strategy": "retry", "model": "b", "config": {"max_retries": 1, "detector": "strict"}},
	"thinker": {"strategy": "reason-act-observe", "model": "b", "config": {"max_steps": 2, "retrieval": {"tool": "read_file"}, "on_limit": "accept"}},
	"actor": {"strategy": "react", "model": "b", "config": {"max_steps": 2, "on_limit": "fail", "search": {"above": 9, "pinned": ["read_file"], "results": 2, "name": "find_tools"}}},
	"talker": {"strategy": "llm-only", "model": "b", "system": "s", "config": {"max_tokens": 9}},
	"lister": {"strategy": "planning", "model": "b", "config": {"max_steps": 2}}
},
"default": "planner",
"profiles": {"p": {"agent": "worker", "source": "v", "strategy": "react", "model": "a", "base_url": "http://h/v1", "policy": "hermes", "system": "s", "dir": ".", "approve": "ask",
	"protect": ["*.sql"], "no_ask": true, "max_steps": 3}},
"rules": [{"source": "v", "agent": "worker"}, {"keywords": ["a"], "agent": "worker"}, {"pattern": "x", "agent": "judge"}]
}`

// oneOfVariants is how many variants there are to one that is tried, so that the test stays fast:
// numbers that are co-prime to how many values there are.
func oneOfVariants() int { return prove.DepthOr(37, 17) }

// removed stands for a value that is taken away.
type removed struct{}

// variantValues are put in the place of each value in turn.
var variantValues = []any{
	removed{},
	nil, "", 0, -1, 1.5, 1e30, true,
	[]any{},
	map[string]any{},
	"x", "Fail", "fail", "ask", "tool", "auto", "func", "text", "K", "no such", "7m", "0s", "http://h/?k=1",
	"read_file",
	[]any{"x"},
	[]any{"read_file"},
	[]any{"read_file", "read_file"},
	[]any{"ask_user", "read_file"},
	map[string]any{"x": 1},
	map[string]any{"mode": "none"},
	map[string]any{"agent": "judge"},
	[]any{map[string]any{"agent": "judge"}, map[string]any{"agent": "judge"}},
}

// beyondSchema fits the problems that no schema can tell: names of what is not there, or does not
// fit together.
var beyondSchema = regexp.MustCompile(`: no (model|agent|tool) |there is more than one model|needs a description|takes one executor|the agent is there twice|its tools do not allow|` +
	`asks no model itself|with an executor calls no tools|go in a circle|jsonschema|must be a duration above zero|say it in the agent|must call a tool, and there is none`)

// What the schema that is shipped says of a configuration, an editor says; it is what is said by
// config check.
func TestConfig_schemaAndCheckAgree(t *testing.T) {
	schema, err := tools.CompileSchema(schemaOf(true))
	require.NoError(t, err)
	accepted, refused, beyond := 0, 0, 0
	compare := func(what string, document []byte) {
		_, problems := parsed(string(document))
		misfit := schema.Check(string(document))
		switch {
		case len(problems) == 0:
			accepted++
			require.NoError(t, misfit, "%s: check accepts it, the schema does not", what)
		case misfit != nil:
			refused++
		default:
			beyond++
			require.Regexp(t, beyondSchema, strings.Join(problems, "\n"), "%s: the schema accepts it, check does not", what)
		}
		for _, p := range problems {
			require.Regexp(t, `^\d+:\d+: (missing "agents"|[a-z])`, p, what)
		}
	}
	var document any
	require.NoError(t, json.Unmarshal([]byte(everything), &document))
	compare("all of it", []byte(everything))
	require.Equal(t, 1, accepted)
	step := oneOfVariants()
	for i, way := range waysInto(document) {
		for k, value := range variantValues {
			if (i+k)%step != 0 {
				continue
			}
			var changed any
			require.NoError(t, json.Unmarshal([]byte(everything), &changed))
			changed = replaced(changed, way, value)
			text, err := json.MarshalIndent(changed, "", " ")
			require.NoError(t, err)
			compare(fmt.Sprintf("%v = %v", way, value), text)
		}
	}
	require.Greater(t, accepted, prove.DepthOr(8, 15))
	require.Greater(t, refused, prove.DepthOr(80, 100))
	require.Greater(t, accepted+refused+beyond, prove.DepthOr(120, 200))
}

// waysInto returns the ways to all parts of a document, in order.
func waysInto(v any) [][]string {
	var ways [][]string
	add := func(key string, part any) {
		ways = append(ways, []string{key})
		for _, rest := range waysInto(part) {
			ways = append(ways, append([]string{key}, rest...))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			add(key, v[key])
		}
	case []any:
		for i, item := range v {
			add(fmt.Sprint(i), item)
		}
	default:
	}
	return ways
}

// replaced returns v with another value at the end of a way.
func replaced(v any, way []string, value any) any {
	if len(way) == 0 {
		return value
	}
	switch v := v.(type) {
	case map[string]any:
		if v[way[0]] = replaced(v[way[0]], way[1:], value); v[way[0]] == any(removed{}) {
			delete(v, way[0])
		}
	case []any:
		for i := range v {
			if fmt.Sprint(i) != way[0] {
				continue
			}
			if v[i] = replaced(v[i], way[1:], value); v[i] == any(removed{}) {
				return slices.Delete(v, i, i+1)
			}
		}
	default:
	}
	return v
}

// The words and bounds of a config are those that its strategy takes, and all that it takes.
func TestConfig_choices(t *testing.T) {
	for _, name := range builtin.Names() {
		properties := madeStrategySchema(name).at("properties")
		choices := choicesOf(name)
		for _, key := range sortedKeys(properties) {
			tried := func(value string) error {
				_, err := builtin.New(name, json.RawMessage(`{"`+key+`":`+value+`}`))
				return err
			}
			switch kind := properties.at(key)["type"]; {
			case choices[key] != nil:
				for _, word := range choices[key] {
					require.NoError(t, tried(`"`+word+`"`), "%s: %s", name, key)
				}
				if err := tried(`"nonsense"`); err != nil {
					for _, word := range regexp.MustCompile(`"\w+"`).FindAllString(err.Error(), -1) {
						if word != `"nonsense"` && word != `"func"` {
							require.Contains(t, choices[key], strings.Trim(word, `"`), "%s: %s", name, key)
						}
					}
				}
			case kind == "string" && key != "otherwise": // that names a part
				require.NoError(t, tried(`"nonsense"`), "%s: %s is a choice", name, key)
			case kind == "integer":
				_, natural := properties.at(key)["minimum"].(int)
				require.Equal(t, natural, tried("-1") != nil, "%s: %s", name, key)
			default:
			}
		}
	}
}
