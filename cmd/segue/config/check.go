package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/plainwords"
	"github.com/segue-go/segue/cmd/segue/internal/strategies"
	"github.com/segue-go/segue/cmd/segue/internal/workfolder"
	"github.com/segue-go/segue/internal/similar"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/strategy/builtin"
	"github.com/segue-go/segue/tools"
)

// Patterns of names in a configuration. Names of agents are also names of tools. Names of
// environment variables must be in capitals; most keys are not, so a key in their place is found.
const (
	namePattern = `^[A-Za-z0-9_-]{1,64}$`
	envPattern  = `^[A-Z_][A-Z0-9_]{0,63}$`
)

var (
	nameForm = compiledOnce(namePattern)
	envForm  = compiledOnce(envPattern)
)

// compiledOnce compiles a pattern when it is first needed: most commands read no configuration, and
// counted repetitions take long.
func compiledOnce(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// toolNames are the tools that an agent can name.
var toolNames = slices.Concat(workfolder.ToolNames, []string{tools.AskUserName, orchestrator.ReadResultTool})

// noKeyHere is the message about a provider's key in the file. It does not quote the key.
const noKeyHere = "a key has no place in this file: put it into an environment variable, and the NAME of that, in capitals, here as api_key_env"

// secrets finds keys of providers.
func (c *Config) secrets(document any) []Problem {
	var found []Problem
	top, _ := document.(map[string]any)
	models, _ := top["models"].(map[string]any)
	for _, name := range sortedKeys(models) {
		members, _ := models[name].(map[string]any)
		for _, member := range sortedKeys(members) {
			pointer := within(within("/models", name), member)
			switch text, _ := members[member].(string); {
			case member == "api_key_env" && text != "" && !envForm().MatchString(text),
				slices.Contains([]string{"api_key", "apikey", "api-key", "apiKey", "key", "token", "secret", "password", "authorization"}, member):
				found = append(found, c.problem(pointer, noKeyHere))
			}
		}
	}
	servers, _ := top["mcp"].(map[string]any)
	return append(found, c.mcpSecrets(servers)...)
}

// check finds problems that a schema cannot find: unknown names, and invalid settings.
func (c *Config) check() []Problem {
	var found []Problem
	for _, name := range sortedKeys(c.Models) {
		found = append(found, c.checkModel(name)...)
	}
	for _, name := range sortedKeys(c.Agents) {
		found = append(found, c.checkAgent(name)...)
	}
	for _, name := range sortedKeys(c.MCP) {
		found = append(found, c.checkMCP(name)...)
	}
	if len(c.Agents) == 0 && c.at["/agents"] != (Position{}) {
		found = append(found, c.problem("/agents", "there is no agent"))
	}
	if c.Default != "" {
		found = append(found, c.knownAgent("/default", c.Default)...)
	}
	for i := range c.Rules {
		found = append(found, c.checkRule(i)...)
	}
	for _, name := range sortedKeys(c.Profiles) {
		found = append(found, c.checkProfile(name)...)
	}
	if _, err := c.Store.Age(); err != nil {
		found = append(found, c.problem("/store/keep", "%v", err))
	}
	found = append(found, c.checkLarge()...)
	for i, text := range c.Protected {
		if _, err := workfolder.ParseGlob(text); err != nil {
			found = append(found, c.problem(within("/protected", i), "%v", err))
		}
	}
	return found
}

func (c *Config) checkModel(name string) []Problem {
	m, at := c.Models[name], within("/models", name)
	found := c.checkName(at, name)
	found = append(found, c.checkPolicy(at+"/policy", m.API, m.Policy)...)
	if _, err := m.Limits.timeout(); err != nil {
		found = append(found, c.problem(at+"/limits/timeout", "must be a duration above zero, such as 90s or 2m"))
	}
	found = append(found, c.checkServer(at+"/base_url", m.BaseURL, "api_key_env")...)
	found = append(found, c.checkThinking(at, m)...)
	if _, err := ParseIdleTimeout(m.Limits.IdleTimeout); err != nil {
		found = append(found, c.problem(at+"/limits/idle_timeout", "%s", err.Error()))
	}
	for i, other := range m.Fallbacks {
		pointer := within(at+"/fallbacks", i)
		if _, ok := c.Models[other]; !ok {
			found = append(found, c.noSuch(pointer, "model", other, sortedKeys(c.Models)))
		} else if circle := c.circle(name, other); circle != nil {
			found = append(found, c.problem(pointer, "the fallbacks go in a circle: %s", strings.Join(circle, " -> ")))
		}
	}
	return found
}

// checkServer finds what is wrong with the address of a server, whose key is named by another key
// of the file.
func (c *Config) checkServer(at, address, named string) []Problem {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return nil
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return []Problem{c.problem(at, "must be the address of a server, with http:// or https://")}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return []Problem{c.problem(at, "must be a plain address, without user, password or query; a key is named by %s", named)}
	default:
		return nil
	}
}

// circle returns the path by which the fallbacks of a model lead back to it through next; nil if
// there is none.
func (c *Config) circle(name, next string) []string {
	seen := map[string]bool{}
	var walk func(way []string, at string) []string
	walk = func(way []string, at string) []string {
		way = append(way, at)
		if at == name {
			return way
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		for _, other := range c.Models[at].Fallbacks {
			if found := walk(slices.Clip(way), other); found != nil {
				return found
			}
		}
		return nil
	}
	return walk([]string{name}, next)
}

func (c *Config) checkAgent(name string) []Problem {
	a, at := c.Agents[name], within("/agents", name)
	found := c.checkName(at, name)
	if slices.Contains(toolNames, name) {
		found = append(found, c.problem(at, "this is the name of a tool"))
	}
	if _, ok := c.Models[a.Model]; a.Model != "" && !ok {
		found = append(found, c.noSuch(at+"/model", "model", a.Model, sortedKeys(c.Models)))
	}
	if a.Model == "" && len(c.Models) > 1 && a.asksModel() {
		found = append(found, c.problem(at, "there is more than one model; say which: model: %s", strings.Join(sortedKeys(c.Models), " or ")))
	}
	for i, tool := range a.Tools {
		if slices.Contains(a.Tools[:i], tool) {
			found = append(found, c.problem(within(at+"/tools", i), "the tool is there twice"))
		}
	}
	for i, child := range a.Children {
		found = append(found, c.checkChild(name, i, child)...)
	}
	for _, tool := range sortedKeys(a.Approval.Tools) {
		known := slices.Concat(toolNames, a.children(asTool))
		if len(a.MCP) == 0 && !slices.Contains(known, tool) { // the tools of MCP servers are not known before a run
			found = append(found, c.noSuch(within(at+"/approval/tools", tool), "tool", tool, known))
		}
	}
	found = slices.Concat(found, c.checkPaths(name))
	if builtin.Table(a.StrategyName()) == nil {
		return found // the schema reports it
	}
	return slices.Concat(found, c.checkAgentMCP(name), c.checkFit(name), c.checkStops(name), c.checkBound(name), c.checkHandoffs(name), c.checkStrategy(name))
}

func (c *Config) checkChild(name string, i int, child Child) []Problem {
	at := within(within("/agents", name)+"/children", i)
	if _, given := c.at[at+"/agent"]; !given {
		return nil // the schema reports it
	}
	if found := c.knownAgent(at+"/agent", child.Agent); found != nil {
		return found
	}
	if child.As == asExecutor {
		if key, _ := strategies.KeysOf(c.Agents[name].StrategyName()).Executor(); key == "" {
			return []Problem{c.problem(at, "the strategy %s hands nothing on; use the agent as: %s", c.Agents[name].StrategyName(), asTool)}
		}
	} else if c.Agents[child.Agent].Description == "" {
		return []Problem{c.problem(at, "%s needs a description, for the model that may call it", child.Agent)}
	}
	if slices.ContainsFunc(c.Agents[name].Children[:i], func(other Child) bool { return other.Agent == child.Agent }) {
		return []Problem{c.problem(at, "the agent is there twice")}
	}
	return nil
}

func (c *Config) checkRule(i int) []Problem {
	r, at := c.Rules[i], within("/rules", i)
	if _, given := c.at[at+"/agent"]; !given {
		return nil // the schema reports it
	}
	found := c.knownAgent(at+"/agent", r.Agent)
	given := 0
	for key, empty := range map[string]bool{"source": r.Source == "", "keywords": len(r.Keywords) == 0, "pattern": r.Pattern == ""} {
		if _, said := c.at[at+"/"+key]; said {
			given++
			if empty {
				found = append(found, c.problem(at+"/"+key, "is empty, and so would fit nothing"))
			}
		}
	}
	if given != 1 {
		found = append(found, c.problem(at, "needs one of source, keywords and pattern"))
	}
	for k, word := range r.Keywords {
		if len(wordsOf(word)) == 0 {
			found = append(found, c.problem(within(at+"/keywords", k), "has no letter and no digit"))
		}
	}
	if _, err := regexp.Compile(r.Pattern); err != nil {
		found = append(found, c.problem(at+"/pattern", "%s", plainwords.Line(err)))
	}
	return found
}

// tryAgents makes each agent as a run would, to find problems that check cannot find.
func (c *Config) tryAgents() []Problem {
	var found []Problem
	for _, name := range sortedKeys(c.Agents) {
		found = append(found, c.tryStrategy(name)...)
	}
	if len(found) > 0 {
		return found
	}
	for _, name := range sortedKeys(c.Agents) {
		files := []tools.Tool{}
		for _, tool := range toolNames[:len(toolNames)-1] { // the orchestrator brings the last one
			files = append(files, tools.New(tools.Definition{Name: tool}, nothing))
		}
		setup, err := c.Setup(name, Options{Tools: files, MCP: c.noMCPTools()})
		if err == nil {
			_, err = orchestrator.New(orchestrator.Config{Client: scripted.New(), Strategies: setup.Strategies, Tools: setup.Tools, LargeResults: c.KeepLarge()})
		}
		if err != nil {
			found = append(found, c.problem(within("/agents", name), "%s", plainwords.Line(err)))
		}
	}
	return found
}

func (c *Config) checkName(at, name string) []Problem {
	if nameForm().MatchString(name) {
		return nil
	}
	return []Problem{c.problem(at, "a name has 1 to 64 letters, digits, - and _")}
}

func (c *Config) knownAgent(at, name string) []Problem {
	if _, ok := c.Agents[name]; ok {
		return nil
	}
	return []Problem{c.noSuch(at, "agent", name, sortedKeys(c.Agents))}
}

// noSuch returns the problem of a name that is not there, with what there is.
func (c *Config) noSuch(at, what, name string, known []string) Problem {
	all := "none"
	if len(known) > 0 {
		all = strings.Join(known, ", ")
	}
	return c.problem(at, "no %s %q%s; there are: %s", what, name, similar.Aside(name, known), all)
}

// timeout returns the time-out of a request; 0 means none.
func (l ModelLimits) timeout() (time.Duration, error) {
	if l.Timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(l.Timeout)
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
