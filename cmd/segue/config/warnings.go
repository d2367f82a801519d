package config

import (
	"os"
	"slices"
	"strings"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
)

// Warnings returns what is not wrong with a configuration, but will end a run of some tasks: keys
// that are not set, and no default. Getenv reads environment variables; nil means [os.Getenv]. No
// value of a variable is in the texts.
func (c *Config) Warnings(getenv func(string) string) []Problem {
	if getenv == nil {
		getenv = os.Getenv
	}
	found := &checker{Config: c}
	known := func(api string) bool { // the environment has a key or a server for it
		return getenv(endpoint.KeyVariableOf(api)) != "" || getenv(endpoint.ServerVariableOf(api)) != ""
	}
	for _, name := range sortedKeys(c.Models) {
		m, at := c.Models[name], within("/models", name)
		found.addIf(m.APIKeyEnv != "" && getenv(m.APIKeyEnv) == "", at+"/api_key_env", "the environment variable %s is not set; set it before this model is asked", m.APIKeyEnv)
		found.addIf(m.APIKeyEnv == "" && m.BaseURL == "" && !known(m.API), at, "%s is not set, and there is neither base_url nor api_key_env; say one of them", endpoint.KeyVariableOf(m.API))
	}
	found.addIf(len(c.Models) == 0 && !known(endpoint.Chat), "/agents", "there are no models, and neither %s nor %s is set; set one, or name a model", endpoint.KeyVariable, endpoint.ServerVariable)
	found.addIf(c.Default == "" && len(c.Agents) > 1, "/agents", "there is no default for a task that no rule fits; say default: NAME at the top, or --agent each time")
	for _, name := range sortedKeys(c.MCP) {
		s, at := c.MCP[name], within("/mcp", name)
		for _, header := range sortedKeys(s.HeaderEnv) {
			_, variable := headerVariable(s.HeaderEnv[header])
			found.addIf(getenv(variable) == "", within(at+"/header_env", header), "the environment variable %s is not set; set it before this server is used", variable)
		}
		for i, entry := range s.Env {
			found.addIf(!strings.Contains(entry, "=") && getenv(entry) == "", within(at+"/env", i), "the environment variable %s is not set; the command does without it", entry)
		}
		used := false
		for _, a := range c.Agents {
			used = used || slices.Contains(a.MCP, name)
		}
		found.addIf(!used, at, "no agent uses this server; say mcp: [%s] in one", name)
	}
	byPlace(found.found)
	return found.found
}
