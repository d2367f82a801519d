package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
)

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
	at := accountOf(cfg, m.getenv)
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

// environment returns the client of the model that flags and environment name, without a
// configuration, and the provider's name for it.
func (c *cli) environment(f *runFlags) (llmclient.Client, string, error) {
	key := c.getenv(openAIKey)
	if key == "" && f.baseURL == "" && c.getenv(openAIServer) == "" {
		return nil, "", errors.New("there is no model to ask: set OPENAI_API_KEY, or name a server with --base-url or OPENAI_BASE_URL; segue demo needs neither")
	}
	model := cmp.Or(f.model, c.getenv("SEGUE_MODEL"), defaultModel)
	chat, err := openaichat.New(typedAccount(f.baseURL, c.getenv).config(model, key))
	if err != nil {
		return nil, "", err
	}
	client, err := asked(chat, 0, f.policy)
	return client, model, err
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

// router returns what a crew asks. Flags are for the model of its first agent.
func (c *cli) router(f *runFlags, config *configuration, crew *crew) (llmclient.Client, error) {
	all := &models{file: config.Models, getenv: c.getenv, made: map[string]llmclient.Client{}}
	if config.found {
		all.found = config.path
	}
	router := llmclient.Router{}
	for _, by := range sortedKeys(crew.models) {
		name, err := crew.models[by], error(nil)
		switch {
		case by == address(crew.agents[0]):
			router[by], err = c.flagged(f, all, name)
		case name == "":
			router[by], err = c.fromEnvironment(&runFlags{})
		default:
			router[by], err = all.client(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return router, nil
}

// flagged returns the client of a model of the file, or of the environment, changed as flags say. A
// server that a flag names is not sent the key of another one: it is sent OPENAI_API_KEY, as
// without a configuration.
func (c *cli) flagged(f *runFlags, all *models, name string) (llmclient.Client, error) {
	if _, ok := all.file[f.model]; ok {
		name = f.model
	}
	cfg, ok := all.file[name]
	if !ok {
		return c.fromEnvironment(f)
	}
	own := f.model != "" && f.model != name
	if !own && f.policy == "" && f.baseURL == "" {
		return all.client(name)
	}
	if own {
		cfg.Model = f.model
	}
	cfg.Policy = cmp.Or(f.policy, cfg.Policy)
	if f.baseURL != "" {
		return all.makeAt(name, cfg, typedAccount(f.baseURL, c.getenv), c.getenv(openAIKey))
	}
	return all.make(name, cfg)
}

// fromEnvironment is [cli.environment] for an agent, whose requests name itself.
func (c *cli) fromEnvironment(f *runFlags) (llmclient.Client, error) {
	client, model, err := c.environment(f)
	return llmclient.Fallback([]llmclient.Candidate{{Client: client, Model: model}}, llmclient.FallbackConfig{AfterOutput: true}), err
}
