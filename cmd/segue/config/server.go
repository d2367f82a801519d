package config

import (
	"cmp"
	"fmt"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/llmclient/openaichat"
)

// Server is the server of a model, and how the model is asked there.
type Server struct {
	Client      openaichat.Config // with the key, if its variable is set
	KeyVariable string            // the environment variable of the key; "": no key is sent
	Policy      string            // the text formats for tool calls; "": the tool calls of the server
}

// EnvironmentServer returns the server of the model that options and environment name, for a
// command without a configuration. In contrast to [EnvironmentClient] it needs no key.
func EnvironmentServer(o ClientOptions) Server {
	getenv := o.lookup()
	model := cmp.Or(o.Model, getenv("SEGUE_MODEL"), DefaultModel)
	return serverAt(endpoint.Typed(o.BaseURL, getenv), model, o.Policy, getenv)
}

// Server returns the server of the model of an agent, changed by the options as by [Setup.Client].
// It needs no key. It returns an error if there is no such agent, or if a file that was found would
// send a key to a server for which the key is not meant.
func (c *Config) Server(agent string, o ClientOptions) (Server, error) {
	if err := c.mustHave(agent); err != nil {
		return Server{}, err
	}
	name := c.ModelOf(c.Agents[agent])
	if _, ok := c.Models[o.Model]; ok {
		name = o.Model
	}
	m, ok := c.Models[name]
	if !ok {
		return EnvironmentServer(o), nil
	}
	if o.Model != "" && o.Model != name {
		m.Model = o.Model
	}
	getenv, policy := o.lookup(), cmp.Or(o.Policy, m.Policy)
	if o.BaseURL != "" {
		return serverAt(endpoint.Typed(o.BaseURL, getenv), m.Model, policy, getenv), nil
	}
	at := endpoint.Configured(m.BaseURL, m.APIKeyEnv, getenv)
	if c.Found && at.Misdirected() {
		return Server{}, fmt.Errorf("model %s: %s goes to %s alone, the server of the environment; %s was found, not named, and cannot send it to %s: name the file with --config",
			name, at.KeyVariable, endpoint.HostShown(endpoint.EnvironmentServer(getenv)), c.Path, endpoint.HostShown(at.URL))
	}
	return serverAt(at, m.Model, policy, getenv), nil
}

func serverAt(at endpoint.Endpoint, model, policy string, getenv func(string) string) Server {
	key := ""
	if at.KeyVariable != "" {
		key = getenv(at.KeyVariable)
	}
	return Server{Client: at.Config(model, key), KeyVariable: at.KeyVariable, Policy: policy}
}
