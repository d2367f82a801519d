package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
)

// defaultModel is asked if nobody says which.
const defaultModel = "gpt-5-mini"

// clientOptions say how models are asked. All but Getenv is for the model of one agent, the one that
// is run, and stronger than the file.
type clientOptions struct {
	Getenv  func(name string) string // reads an environment variable; nil: os.Getenv
	Model   string                   // a name of the file, or else the provider's name for the model; "": that of the agent
	BaseURL string                   // the server, which is sent OPENAI_API_KEY; "": that of the model
	Policy  string                   // the text format in which the model writes its tool calls; "": that of the model
}

// lookup returns what reads environment variables.
func (o clientOptions) lookup() func(string) string {
	if o.Getenv == nil {
		return os.Getenv
	}
	return o.Getenv
}

// models makes the clients of a configuration. Each model has one, whoever asks it, since its
// limits are those of all.
type models struct {
	file   map[string]modelConfig
	found  string // the configuration, if nobody named it; else ""
	getenv func(string) string
	made   map[string]llmclient.Client
}

// client returns the client of a model by its name in the file.
func (m *models) client(name string) (llmclient.Client, error) {
	if c, ok := m.made[name]; ok {
		return c, nil
	}
	c, err := m.make(name, m.file[name])
	if err == nil {
		m.made[name] = c
	}
	return c, err
}

// make makes a client at the server that the file says.
func (m *models) make(name string, cfg modelConfig) (llmclient.Client, error) {
	at := configuredEndpoint(cfg.BaseURL, cfg.APIKeyEnv, m.getenv)
	if m.found != "" && at.misdirected() {
		return nil, fmt.Errorf("model %s: %s goes to %s alone, the server of the environment; %s was found, not named, and cannot send it to %s: name the file with --config",
			name, at.variable, hostShown(environmentServer(m.getenv)), m.found, hostShown(at.url))
	}
	key, err := m.key(name, cfg, at)
	if err != nil {
		return nil, err
	}
	return m.makeAt(name, cfg, at, key)
}

// makeAt makes a client at a server, and those that it falls back on. Whatever it is asked for, it
// asks for its own model.
func (m *models) makeAt(name string, cfg modelConfig, at account, key string) (llmclient.Client, error) {
	own, err := modelAt(name, cfg, at, key)
	if err != nil {
		return nil, err
	}
	candidates := []llmclient.Candidate{{Client: own, Model: cfg.Model}}
	for _, other := range cfg.Fallbacks {
		c, err := m.client(other)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, llmclient.Candidate{Client: c})
	}
	return llmclient.Fallback(candidates, llmclient.FallbackConfig{AfterOutput: true}), nil
}

// modelAt makes the client of one model at one server. The order is that of a request from the
// outside in: its text format, further tries, its turn in the limit, its time.
func modelAt(name string, cfg modelConfig, at account, key string) (llmclient.Client, error) {
	client, err := openaichat.New(at.config(cfg.Model, key))
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	timeout, err := cfg.Limits.timeout()
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	c := llmclient.Client(client)
	if timeout > 0 {
		c = timed{c, timeout}
	}
	if cfg.Limits.RequestsPerMinute > 0 {
		c = llmclient.RateLimit(c, llmclient.RateLimitConfig{RequestsPerMinute: cfg.Limits.RequestsPerMinute})
	}
	return asked(c, cfg.Limits.Retries, cfg.Policy)
}

// asked adds further tries and a text format.
func asked(c llmclient.Client, retries int, policy string) (llmclient.Client, error) {
	switch {
	case retries == 0:
		c = llmclient.Retry(c, llmclient.RetryConfig{AfterOutput: true})
	case retries > 0:
		c = llmclient.Retry(c, llmclient.RetryConfig{AfterOutput: true, MaxAttempts: retries + 1})
	}
	if policy == "" {
		return c, nil
	}
	p, err := policyOf(policy, markdownpolicy.Options{})
	if err != nil {
		return nil, err
	}
	return policyclient.Wrap(c, markdownpolicy.Think{Policy: p}), nil
}

// key returns the key of a model; "" means that none is sent.
func (m *models) key(name string, cfg modelConfig, at account) (string, error) {
	key := m.getenv(at.variable)
	switch {
	case at.variable == "" || key != "":
		return key, nil
	case cfg.APIKeyEnv != "":
		return "", fmt.Errorf("model %s: the environment variable %s, which its api_key_env names, is not set", name, cfg.APIKeyEnv)
	case m.getenv(openAIServer) != "":
		return "", nil
	default:
		return "", fmt.Errorf("model %s: %s is not set", name, openAIKey)
	}
}

// environmentClient returns the client of the model that options and environment name, without a
// configuration. Requests need not name the model.
func environmentClient(o clientOptions) (llmclient.Client, error) {
	client, _, err := o.environment()
	return client, err
}

// environment returns the client of the model that options and environment name, and the provider's
// name for it.
func (o clientOptions) environment() (llmclient.Client, string, error) {
	getenv := o.lookup()
	key := getenv(openAIKey)
	if key == "" && o.BaseURL == "" && getenv(openAIServer) == "" {
		return nil, "", errors.New("there is no model to ask: set OPENAI_API_KEY, or name a server with --base-url or OPENAI_BASE_URL; segue demo needs neither")
	}
	model := cmp.Or(o.Model, getenv("SEGUE_MODEL"), defaultModel)
	chat, err := openaichat.New(typedEndpoint(o.BaseURL, getenv).config(model, key))
	if err != nil {
		return nil, "", err
	}
	client, err := asked(chat, 0, o.Policy)
	return client, model, err
}

// named is [clientOptions.environment] for an agent, whose requests name itself.
func (o clientOptions) named() (llmclient.Client, error) {
	client, model, err := o.environment()
	return llmclient.Fallback([]llmclient.Candidate{{Client: client, Model: model}}, llmclient.FallbackConfig{AfterOutput: true}), err
}

// timed is a client whose requests take no longer than so.
type timed struct {
	client llmclient.Client
	most   time.Duration
}

// Unwrap returns the client that is asked.
func (t timed) Unwrap() llmclient.Client { return t.client }

// Complete asks the client.
func (t timed) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.most, fmt.Errorf("the request took longer than %v, the timeout of the model", t.most))
	defer cancel()
	return t.client.Complete(ctx, req, onDelta)
}

// client returns what asks the models of a setup, for an [orchestrator.Config]. A key that is needed
// and not set is an error, as is one that a file which was found would send to a server that it is
// not meant for. It may be used by several goroutines at once.
func (s *Setup) client(o clientOptions) (llmclient.Client, error) {
	all := &models{file: s.config.Models, getenv: o.lookup(), made: map[string]llmclient.Client{}}
	if s.config.found {
		all.found = s.config.path
	}
	router := llmclient.Router{}
	for _, by := range sortedKeys(s.models) {
		name, err := s.models[by], error(nil)
		switch {
		case by == address(s.Agents[0]):
			router[by], err = all.first(o, name)
		case name == "":
			router[by], err = clientOptions{Getenv: o.Getenv}.named()
		default:
			router[by], err = all.client(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return router, nil
}

// first returns the client of the first agent's model, which is one of the file or that of the
// environment, changed as the options say. A server that an option names is not sent the key of
// another one: it is sent OPENAI_API_KEY, as without a configuration.
func (m *models) first(o clientOptions, name string) (llmclient.Client, error) {
	if _, ok := m.file[o.Model]; ok {
		name = o.Model
	}
	cfg, ok := m.file[name]
	if !ok {
		return o.named()
	}
	own := o.Model != "" && o.Model != name
	if !own && o.Policy == "" && o.BaseURL == "" {
		return m.client(name)
	}
	if own {
		cfg.Model = o.Model
	}
	cfg.Policy = cmp.Or(o.Policy, cfg.Policy)
	if o.BaseURL != "" {
		return m.makeAt(name, cfg, typedEndpoint(o.BaseURL, m.getenv), m.getenv(openAIKey))
	}
	return m.make(name, cfg)
}
