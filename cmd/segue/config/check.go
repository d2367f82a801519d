package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/strategy/react"
	"github.com/segue-go/segue/tools"
)

// toolNames are the tools that an agent can name.
var toolNames = slices.Concat(workfolder.ToolNames, []string{tools.AskUserName, orchestrator.ReadResultTool})

// checker collects the problems of a configuration.
type checker struct {
	*Config
	found []Problem
}

func (c *checker) add(pointer, format string, args ...any) {
	c.found = append(c.found, c.problem(pointer, format, args...))
}

func (c *checker) addIf(wrong bool, pointer, format string, args ...any) {
	if wrong {
		c.add(pointer, format, args...)
	}
}

// check finds what a schema cannot find, or would tell in other words.
func (c *checker) check() {
	c.rules()
	for _, name := range sortedKeys(c.Models) {
		c.checkThinking(within("/models", name), c.Models[name])
	}
	for _, name := range sortedKeys(c.Agents) {
		c.checkAgent(name)
	}
	for _, name := range sortedKeys(c.MCP) {
		s, at := c.MCP[name], within("/mcp", name)
		c.addIf(len(s.Command) == 0 && s.URL == "", at, "needs a command or a url")
		c.addIf(len(s.Command) > 0 && s.URL != "", at, "has both a command and a url; give it one")
		c.addIf(s.URL != "" && (s.Dir != "" || len(s.Env) > 0), at, "dir and env are for a command, and this server has a url")
		c.addIf(s.URL == "" && len(s.HeaderEnv) > 0, at+"/header_env", "headers are for a url, and this server has a command: name the variables in env")
		c.addIf(len(s.Command) > 0 && s.Command[0] == "", at+"/command", "the program is empty")
	}
	for i, r := range c.Rules {
		at := within("/rules", i)
		c.addIf(r.Keywords != nil && len(r.Keywords) == 0, at+"/keywords", "is empty, and so would fit nothing")
		given := 0
		for _, key := range []string{"/source", "/keywords", "/pattern"} {
			if c.says(at + key) {
				given++
			}
		}
		c.addIf(given != 1 && c.says(at+"/agent"), at, "needs one of source, keywords and pattern")
	}
	for _, name := range sortedKeys(c.Profiles) {
		at := within("/profiles", name) + "/max_steps"
		c.addIf(c.Profiles[name].MaxSteps == 0 && c.says(at), at, "0 steps do nothing; say how many, or -1 for no bound")
	}
	large := c.LargeResults
	c.addIf(len(c.Agents) == 0 && c.Agents != nil, "/agents", "there is no agent")
	c.addIf(large.Keep != nil && *large.Keep < 0, "/large_results/keep", "must not be negative")
	c.addIf(large.Max < 0, "/large_results/max", "must not be negative")
	c.addIf(large.Show != 0 && large.Show < leastShown, "/large_results/show", "must be at least %d", leastShown)
}

// checkThinking finds keys that the API of a model does not have, and settings that its client
// refuses.
func (c *checker) checkThinking(at string, m Model) {
	own, before := cmp.Or(m.API, endpoint.Chat), len(c.found)
	misfit := func(given bool, key, api string) {
		c.addIf(given && own != api, at+"/"+key, "is for models with api: %s, and this one has api: %s", api, own)
	}
	misfit(m.Summary != "", "summary", endpoint.Responses)
	misfit(m.Thinking != Thinking{}, "thinking", endpoint.Anthropic)
	misfit(m.Cache != "", "cache", endpoint.Anthropic)
	if len(c.found) > before || own != endpoint.Anthropic {
		return
	}
	client := endpoint.Client{API: m.API, Model: m.Model, NoEnvironment: true}
	m.setThinking(&client)
	_, err := client.New()
	if bad, ok := errors.AsType[*llmclient.ConfigError](err); ok {
		where := at + "/" + strings.ToLower(strings.ReplaceAll(bad.Field, ".", "/"))
		if !c.says(where) {
			where = path.Dir(where)
		}
		c.add(where, "%s", bad.Problem)
	}
}

// checkAgent finds what does not fit together in an agent.
func (c *checker) checkAgent(name string) {
	a, at := c.Agents[name], within("/agents", name)
	kind := a.StrategyName()
	if builtin.Table(kind) == nil {
		return // the schema reports it
	}
	for i, tool := range a.Tools {
		c.addIf(slices.Contains(a.Tools[:i], tool), within(at+"/tools", i), "the tool is there twice")
	}
	for i, server := range a.MCP {
		c.addIf(slices.Contains(a.MCP[:i], server), within(at+"/mcp", i), "the server is there twice")
	}
	for i := range a.Children {
		c.checkChild(a, within(at+"/children", i), i)
	}
	executors, what := a.children(asExecutor), kind
	if len(executors) > 0 {
		what += " with an executor"
	}
	workers := map[bool]string{true: "its parts", false: "the executor"}[composes(kind)]
	only := kind == builtin.LLMOnly && (a.Tools != nil || len(a.Children) > 0)
	c.addIf(a.Model == "" && len(c.Models) > 1 && a.asksModel(), at, "there is more than one model; say which: model: %s", strings.Join(sortedKeys(c.Models), " or "))
	c.addIf(len(a.MCP) > 0 && !a.usesTools(), at+"/mcp", "%s calls no tools; give them to another agent", what)
	c.addIf(a.Model != "" && !a.asksModel(), at+"/model", "%s asks no model itself; say it of %s", kind, workers)
	c.addIf(a.System != "" && !a.asksModel(), at+"/system", "%s asks no model itself; say it of %s", kind, workers)
	c.addIf(!a.callsTools() && len(a.children(asTool)) > 0 || only, at, "%s calls no tools; give them to another agent", what)
	c.addIf(kind == builtin.ToolFirst && a.Tools != nil && len(a.Tools)+len(a.Children)+len(a.MCP) == 0, at+"/tools", "%s must call a tool, and there is none", kind)
	c.addIf(len(executors) > 1 && !strategies.KeysOf(kind)["executors"], at+"/children", "%s takes one executor", kind)
	c.checkStops(a, at)
	c.checkBound(name, a)
}

func (c *checker) checkChild(a Agent, at string, i int) {
	child := a.Children[i]
	other, known := c.Agents[child.Agent]
	key, _ := strategies.KeysOf(a.StrategyName()).Executor()
	switch {
	case !known: // a rule, or the schema, reports it
	case child.As == asExecutor && key == "":
		c.add(at, "the strategy %s hands nothing on; use the agent as: %s", a.StrategyName(), asTool)
	case child.As != asExecutor && other.Description == "":
		c.add(at, "%s needs a description, for the model that may call it", child.Agent)
	default:
		c.addIf(slices.ContainsFunc(a.Children[:i], func(before Child) bool { return before.Agent == child.Agent }), at, "the agent is there twice")
	}
}

// checkStops finds an agent whose strategy ends the model's turns by stop sequences, and whose
// model, or a fallback of it, is asked by an API without any. Without tools it needs none.
func (c *checker) checkStops(a Agent, at string) {
	if a.StrategyName() != react.Name || a.Tools != nil && len(a.Tools)+len(a.MCP)+len(a.children(asTool)) == 0 {
		return
	}
	for _, model := range closure([]string{c.ModelOf(a)}, func(name string) []string { return c.Models[name].Fallbacks }) {
		c.addIf(c.Models[model].API == endpoint.Responses, at+"/strategy", "%s needs stop sequences, and the model %s has api: %s, which has none: choose another strategy, or api: %s",
			react.Name, model, endpoint.Responses, endpoint.Chat)
	}
}

// checkBound finds tools that a child names but its parent forbids.
func (c *checker) checkBound(name string, a Agent) {
	for _, below := range closure(a.children(asExecutor), func(name string) []string { return c.Agents[name].next() }) {
		for k, tool := range c.Agents[below].Tools {
			c.addIf(a.Tools != nil && !slices.Contains(a.Tools, tool), within(within("/agents", below)+"/tools", k),
				"%s hands work on to %s, and its tools do not allow %s", name, below, tool)
		}
	}
}

// closure returns names, and all that follow from them.
func closure(names []string, next func(string) []string) []string {
	for i := 0; i < len(names); i++ {
		for _, name := range next(names[i]) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// try makes each agent as a run would, to find problems that check cannot find.
func (c *checker) try() {
	for _, name := range sortedKeys(c.Agents) {
		c.tryStrategy(name)
	}
	if len(c.found) > 0 {
		return
	}
	o := Options{MCP: map[string][]tools.Tool{}}
	for name := range c.MCP {
		o.MCP[name] = nil
	}
	for _, tool := range toolNames[:len(toolNames)-1] { // the orchestrator brings the last one
		o.Tools = append(o.Tools, tools.New(tools.Definition{Name: tool}, nothing))
	}
	for _, name := range sortedKeys(c.Agents) {
		setup, err := c.Setup(name, o)
		if err == nil {
			_, err = orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: setup.Strategies, Tools: setup.Tools, LargeResults: c.KeepLarge()})
		}
		if err != nil {
			c.add(within("/agents", name), "%s", plainwords.Line(err))
		}
	}
}

// nothing is the function of a tool of which only the name matters.
func nothing(context.Context, struct{}) (string, error) { return "", nil }

// tryStrategy makes the strategy of an agent, to find errors that it reports about its config.
func (c *checker) tryStrategy(name string) {
	a, at, before := c.Agents[name], within("/agents", name)+"/config", len(c.found)
	members, err := strategies.ConfigMembers(a.Config)
	if err == nil {
		err = made(a.StrategyName(), members)
	}
	if err == nil {
		return
	}
	if c.tryConfig(a.StrategyName(), at, nil, members); len(c.found) == before {
		c.add(at, "%s", plainwords.Line(err))
	}
}

// made returns the error of a strategy about its config.
func made(strategy string, members any) error {
	config, err := json.Marshal(members)
	if err == nil {
		_, err = builtin.New(strategy, config)
	}
	return err
}

// tryConfig finds the errors that a strategy itself reports about its config. It tries each key
// alone, to find the key of each error.
func (c *checker) tryConfig(strategy, at string, way []string, members map[string]any) {
	for _, key := range sortedKeys(members) {
		own, value := append(slices.Clip(way), key), members[key]
		for _, name := range slices.Backward(own) {
			value = map[string]any{name: value}
		}
		err, before := made(strategy, value), len(c.found)
		if inner, _ := members[key].(map[string]any); err != nil && key == "prompts" {
			c.tryConfig(strategy, within(at, key), own, inner)
		}
		if err != nil && len(c.found) == before {
			c.add(within(at, key), "%s", plaintext.OneLine(goField.ReplaceAllString(err.Error(), "")))
		}
	}
}

// goField matches the beginning of a strategy's error about its Config.
var goField = regexp.MustCompile(`^[a-z]+: [A-Z]\w*: `)

// membersOf returns the parts of a value of the document by their keys; those of a list by their
// numbers.
func membersOf(value any) map[string]any {
	switch v := value.(type) {
	case map[string]any:
		return v
	case []any:
		members := make(map[string]any, len(v))
		for i, item := range v {
			members[strconv.Itoa(i)] = item
		}
		return members
	default:
		return nil
	}
}

// durationOf returns the duration of a setting; 0 if it is not given.
func durationOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("the timeout is %v", d)
	}
	return d, err
}

// listed returns the names in a map, for messages.
func listed[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(sortedKeys(m), ", ")
}
