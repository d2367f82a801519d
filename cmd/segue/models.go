package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/markdownpolicy/policyclient"
)

// openAIKey is the environment variable of a key if nobody names another.
const openAIKey = "OPENAI_API_KEY"

// models makes the clients of a configuration. Each model has one, whoever asks it, since its limits are those of all.
type models struct {
	file   map[string]modelConfig
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

// make makes a client, and those that it falls back on. Whatever it is asked for, it asks for its own model.
func (m *models) make(name string, cfg modelConfig) (llmclient.Client, error) {
	own, err := m.server(name, cfg)
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

// server makes the client of one server. The order is that of a request from the outside in: its text format, further
// tries, its turn in the limit, its time.
func (m *models) server(name string, cfg modelConfig) (llmclient.Client, error) {
	key, err := m.key(name, cfg)
	if err != nil {
		return nil, err
	}
	chat := openaichat.Config{Model: cfg.Model, APIKey: key, BaseURL: cmp.Or(cfg.BaseURL, m.getenv("OPENAI_BASE_URL"))}
	if key == "" {
		chat.HTTPClient = &http.Client{Transport: keyless{http.DefaultTransport}} // else it would take OPENAI_API_KEY
	}
	client, err := openaichat.New(chat)
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

// key returns the key of a model; "" means that none is sent. That of OpenAI goes to nobody whom the file does not send it
// to.
func (m *models) key(name string, cfg modelConfig) (string, error) {
	switch key := m.getenv(cfg.APIKeyEnv); {
	case cfg.APIKeyEnv == "" && cfg.BaseURL != "":
		return "", nil
	case cfg.APIKeyEnv == "":
		if key := m.getenv(openAIKey); key != "" || m.getenv("OPENAI_BASE_URL") != "" {
			return key, nil
		}
		return "", fmt.Errorf("model %s: %s is not set", name, openAIKey)
	case key == "":
		return "", fmt.Errorf("model %s: the environment variable %s, which its api_key_env names, is not set", name, cfg.APIKeyEnv)
	default:
		return key, nil
	}
}

// environment returns the client of the model that flags and environment name, without a configuration, and the
// provider's name for it.
func (c *cli) environment(f *runFlags) (llmclient.Client, string, error) {
	key, url := c.getenv(openAIKey), cmp.Or(f.baseURL, c.getenv("OPENAI_BASE_URL"))
	if key == "" && url == "" {
		return nil, "", errors.New("there is no model to ask: set OPENAI_API_KEY, or name a server with --base-url or OPENAI_BASE_URL; segue demo needs neither")
	}
	model := cmp.Or(f.model, c.getenv("SEGUE_MODEL"), defaultModel)
	chat, err := openaichat.New(openaichat.Config{Model: model, APIKey: key, BaseURL: url})
	if err != nil {
		return nil, "", err
	}
	client, err := asked(chat, 0, f.policy)
	return client, model, err
}

// keyless sends requests without a key.
type keyless struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (k keyless) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
	}
	return k.RoundTripper.RoundTrip(r)
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

// flagged returns the client of a model of the file, or of the environment, changed as flags say. A server that a flag
// names is not sent the key of another one: it is sent OPENAI_API_KEY, as without a configuration.
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
		cfg.BaseURL, cfg.APIKeyEnv = f.baseURL, ""
		if c.getenv(openAIKey) != "" {
			cfg.APIKeyEnv = openAIKey
		}
	}
	return all.make(name, cfg)
}

// fromEnvironment is [cli.environment] for an agent, whose requests name itself.
func (c *cli) fromEnvironment(f *runFlags) (llmclient.Client, error) {
	client, model, err := c.environment(f)
	return llmclient.Fallback([]llmclient.Candidate{{Client: client, Model: model}}, llmclient.FallbackConfig{AfterOutput: true}), err
}
