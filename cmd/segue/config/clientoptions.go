package config

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/llmclient"
)

// ErrNoModel says that nothing names a model for Anthropic's API, which has no default here.
var ErrNoModel = errors.New("no model is named, and the API of Anthropic has no default here: say which, with --model or SEGUE_MODEL; segue models --api anthropic lists them")

// environmentModel returns the provider's name of the model that options and environment name; "":
// none.
func (o ClientOptions) environmentModel() string {
	return cmp.Or(o.Model, o.lookup()("SEGUE_MODEL"), DefaultModelOf(o.API))
}

// nothingToAsk says that there is neither a key nor a server, and what to set.
func (o ClientOptions) nothingToAsk() error {
	key, server := endpoint.KeyVariableOf(o.API), endpoint.ServerVariableOf(o.API)
	if o.API == "" && o.lookup()(endpoint.AnthropicKeyVariable) != "" {
		return fmt.Errorf("%s is not set, and %s is: say --api anthropic -m MODEL to ask Anthropic, or set %s, or name a server with --base-url or %s; segue demo needs neither",
			key, endpoint.AnthropicKeyVariable, key, server)
	}
	return fmt.Errorf("there is no model to ask: set %s, or name a server with --base-url or %s; segue demo needs neither", key, server)
}

// misdirected says that a file that was found cannot send a key to a server.
func misdirected(model string, at endpoint.Endpoint, file string) error {
	return fmt.Errorf("model %s: %s goes to %s alone, the server of the environment; %s was found, not named, and cannot send it to %s: name the file with --config",
		model, at.KeyVariable, at.MeantFor(), file, endpoint.HostShown(at.URL))
}

// endpoint returns where a model of the file is asked, changed by the options. A server that an
// option names, and one that is asked only because the option API names another maker than the
// file does, gets the key of the environment, as without a configuration, and not the key of
// another server. found is the path of the file if it was found and not named.
func (o ClientOptions) endpoint(name string, cfg Model, found string) (endpoint.Endpoint, error) {
	getenv, api := o.lookup(), cmp.Or(o.API, cfg.API)
	moved := cfg.BaseURL == "" && !endpoint.SameMaker(api, cfg.API)
	if o.BaseURL != "" && found != "" && !endpoint.SameMaker(api, o.API) {
		return endpoint.Endpoint{}, fmt.Errorf("model %s: %s was found, not named, and its api: %s cannot decide which key the server of --base-url gets: say --api %s too",
			name, found, api, api)
	}
	if o.BaseURL != "" || moved {
		return endpoint.Typed(api, o.BaseURL, getenv), nil
	}
	at := endpoint.Configured(api, cfg.BaseURL, cfg.APIKeyEnv, getenv)
	if found != "" && at.Misdirected() {
		return at, misdirected(name, at, found)
	}
	return at, nil
}

// first returns the client of the first agent's model, from the file or the environment, changed by
// the options.
func (m *modelClients) first(o ClientOptions, name string) (llmclient.Client, error) {
	if _, ok := m.file[o.Model]; ok {
		name = o.Model
	}
	cfg, ok := m.file[name]
	if !ok {
		return o.named()
	}
	own := o.Model != "" && o.Model != name
	if !own && o.Policy == "" && o.BaseURL == "" && o.API == "" {
		return m.client(name)
	}
	if own {
		cfg.Model = o.Model
	}
	cfg.Policy = cmp.Or(o.Policy, cfg.Policy)
	at, err := o.endpoint(name, cfg, m.foundFile)
	if err != nil {
		return nil, err
	}
	if o.BaseURL != "" {
		return m.makeAt(name, cfg, at, m.getenv(at.KeyVariable))
	}
	key, err := m.key(name, cfg, at)
	if err != nil {
		return nil, err
	}
	return m.makeAt(name, cfg, at, key)
}

// ModelNames returns the providers' names of the models that may be asked, fallbacks included,
// sorted. It needs no key.
func (s *Setup) ModelNames(o ClientOptions) []string {
	found, api := map[string]bool{}, ""
	var add func(name string)
	add = func(name string) {
		m, ok := s.config.Models[name]
		switch {
		case !ok:
			found[ClientOptions{Getenv: o.Getenv, API: api}.environmentModel()] = true
		case !found[m.Model]:
			found[m.Model] = true
			for _, other := range m.Fallbacks {
				add(other)
			}
		}
	}
	for by, name := range s.models {
		_, known := s.config.Models[o.Model]
		if api = ""; by == address(s.Strategy) {
			api = o.API
		}
		switch {
		case by != address(s.Strategy) || o.Model == "":
			add(name)
		case known:
			add(o.Model)
		default:
			found[o.Model] = true
			for _, other := range s.config.Models[name].Fallbacks {
				add(other)
			}
		}
	}
	return sortedKeys(found)
}

// IdleTimeoutVariable is the environment variable of the idle timeout of all models. It overrides
// configurations.
const IdleTimeoutVariable = "SEGUE_IDLE_TIMEOUT"

// NoTimeout is the word for an idle timeout that never ends a request.
const NoTimeout = "none"

// ParseIdleTimeout reads an idle timeout: a duration above zero, such as 90s, or [NoTimeout]. It
// returns 0 for "", and a negative duration for NoTimeout.
func ParseIdleTimeout(text string) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case NoTimeout:
		return -1, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration above zero, such as 90s or 10m, or none")
	}
	return d, nil
}

// Server is the server of a model, and how the model is asked there.
type Server struct {
	Client      endpoint.Client // with the key, if its variable is set
	KeyVariable string          // the environment variable of the key; "": no key is sent
	Policy      string          // the text formats for tool calls; "": the tool calls of the server
}

// EnvironmentServer returns the server of the model that options and environment name, for a
// command without a configuration. In contrast to [EnvironmentClient] it needs no key, and the model
// can be empty.
func EnvironmentServer(o ClientOptions) Server {
	getenv := o.lookup()
	return serverAt(endpoint.Typed(o.API, o.BaseURL, getenv), o.environmentModel(), o.Policy, getenv)
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
	found := ""
	if c.Found {
		found = c.Path
	}
	at, err := o.endpoint(name, m, found)
	if err != nil {
		return Server{}, err
	}
	return serverAt(at, m.Model, cmp.Or(o.Policy, m.Policy), o.lookup()), nil
}

func serverAt(at endpoint.Endpoint, model, policy string, getenv func(string) string) Server {
	key := ""
	if at.KeyVariable != "" {
		key = getenv(at.KeyVariable)
	}
	return Server{Client: at.Config(model, key), KeyVariable: at.KeyVariable, Policy: policy}
}
