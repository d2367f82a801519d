package config

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/markdownpolicy"
)

// DefaultModel is the model that is used if options, configuration and environment name none, and
// the API is not Anthropic's.
const DefaultModel = "gpt-5-mini"

// APIs are the words for [Model.API]. The first is the default.
var APIs = endpoint.APIs

// DefaultModelOf returns the model of an API that is used if nothing names one; "": it has none.
func DefaultModelOf(api string) string {
	if api == endpoint.Anthropic {
		return ""
	}
	return DefaultModel
}

// api returns how the server of a model is spoken to.
func (m Model) api() string { return cmp.Or(m.API, endpoint.Chat) }

// ClientOptions are options for the clients of models. All fields except Getenv apply to the model
// of the agent that is run, and override the file.
type ClientOptions struct {
	Getenv  func(name string) string // reads an environment variable, such as that of a key; nil: os.Getenv
	Model   string                   // a name from the file, or else the provider's name of the model; "": the model of the agent
	API     string                   // how the server is spoken to, one of [APIs]; "": as the file says, or chat
	BaseURL string                   // the server, which gets OPENAI_API_KEY, or ANTHROPIC_API_KEY; "": the server of the model
	Policy  string                   // the text format for tool calls; "": the format of the model

	// IdleTimeout is for all models of the run, as in [ModelLimits]; "": SEGUE_IDLE_TIMEOUT, or
	// that of each model.
	IdleTimeout string
}

// lookup returns the function that reads environment variables.
func (o ClientOptions) lookup() func(string) string {
	if o.Getenv == nil {
		return os.Getenv
	}
	return o.Getenv
}

// idleTimeout returns the idle timeout that holds for all models; 0: each has its own.
func (o ClientOptions) idleTimeout() (time.Duration, error) {
	text, named := o.IdleTimeout, "--idle-timeout"
	if text == "" {
		text, named = o.lookup()(IdleTimeoutVariable), IdleTimeoutVariable
	}
	d, err := ParseIdleTimeout(text)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", named, plaintext.OneLine(text), err)
	}
	return d, nil
}

// modelClients makes the clients of a configuration. Each model has one client, shared by all
// agents, because its limits apply to all of them together.
type modelClients struct {
	file      map[string]Model
	foundFile string // path of the configuration, if it was found and not named; otherwise ""
	getenv    func(string) string
	idle      time.Duration // for all models; 0: as the file says
	made      map[string]llmclient.Client
}

// client returns the client of a model by its name in the file.
func (m *modelClients) client(name string) (llmclient.Client, error) {
	if c, ok := m.made[name]; ok {
		return c, nil
	}
	c, err := m.make(name, m.file[name])
	if err == nil {
		m.made[name] = c
	}
	return c, err
}

// make makes a client for the server that the file names.
func (m *modelClients) make(name string, cfg Model) (llmclient.Client, error) {
	at := endpoint.Configured(cfg.API, cfg.BaseURL, cfg.APIKeyEnv, m.getenv)
	if m.foundFile != "" && at.Misdirected() {
		return nil, misdirected(name, at, m.foundFile)
	}
	key, err := m.key(name, cfg, at)
	if err != nil {
		return nil, err
	}
	return m.makeAt(name, cfg, at, key)
}

// makeAt makes a client for a server, with its fallbacks. The client always requests its own model,
// whatever model a request names.
func (m *modelClients) makeAt(name string, cfg Model, at endpoint.Endpoint, key string) (llmclient.Client, error) {
	own, err := m.modelAt(name, cfg, at, key)
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

// modelAt makes the client of one model at one server. A request passes, from the outside in: text
// format, retries, rate limit, time-out.
func (m *modelClients) modelAt(name string, cfg Model, at endpoint.Endpoint, key string) (llmclient.Client, error) {
	idle, err := ParseIdleTimeout(cfg.Limits.IdleTimeout)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	settings := at.Config(cfg.Model, key)
	settings.IdleTimeout = cmp.Or(m.idle, idle)
	cfg.setThinking(&settings)
	c, err := settings.New()
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	timeout, err := durationOf(cfg.Limits.Timeout)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	if timeout > 0 {
		c = timeLimited{c, timeout}
	}
	if cfg.Limits.RequestsPerMinute > 0 {
		c = llmclient.RateLimit(c, llmclient.RateLimitConfig{RequestsPerMinute: cfg.Limits.RequestsPerMinute})
	}
	return withRetries(c, cfg.Limits.Retries, at.API, cfg.Policy)
}

// withRetries adds retries, 3 if retries is nil, and a text format.
func withRetries(c llmclient.Client, retries *int, api, policy string) (llmclient.Client, error) {
	switch {
	case retries == nil:
		c = llmclient.Retry(c, llmclient.RetryConfig{AfterOutput: true})
	case *retries > 0:
		c = llmclient.Retry(c, llmclient.RetryConfig{AfterOutput: true, MaxAttempts: *retries + 1})
	}
	if policy == "" {
		return c, nil
	}
	p, err := policyFor(api, policy)
	if err != nil {
		return nil, err
	}
	think := markdownpolicy.Think{Policy: p}
	if s, ok := p.(markdownpolicy.Schemer); ok && s.ReplySchema(nil, false, nil) != nil { // a reply begins with no thought
		think.Start = markdownpolicy.ThoughtsTagged
	}
	return policyclient.Wrap(c, think), nil
}

// policyFor returns the text format for a model with an API. The Responses API takes no stop
// sequences, without which a model goes on with results of its own.
func policyFor(api, policy string) (markdownpolicy.Policy, error) {
	p, err := textpolicy.New(policy, markdownpolicy.Options{})
	if err != nil {
		return nil, err
	}
	if s, ok := p.(markdownpolicy.Stopper); ok && api == endpoint.Responses && len(s.Stop()) > 0 {
		return nil, fmt.Errorf("the format %s needs stop sequences, and api: %s has none: choose another format, or api: %s", policy, api, endpoint.Chat)
	}
	return p, nil
}

// key returns the key of a model; "" means that none is sent.
func (m *modelClients) key(name string, cfg Model, at endpoint.Endpoint) (string, error) {
	key := m.getenv(at.KeyVariable)
	switch {
	case at.KeyVariable == "" || key != "":
		return key, nil
	case cfg.APIKeyEnv != "" && cfg.APIKeyEnv == at.KeyVariable:
		return "", fmt.Errorf("model %s: the environment variable %s, which its api_key_env names, is not set", name, cfg.APIKeyEnv)
	case m.getenv(endpoint.ServerVariableOf(at.API)) != "":
		return "", nil
	default:
		return "", fmt.Errorf("model %s: %s is not set", name, at.KeyVariable)
	}
}

// EnvironmentClient returns the client of the model that options and environment name, for a run
// without a configuration. Requests need not name the model. It returns an error if there is
// neither a key nor a server. The client is safe for concurrent use.
func EnvironmentClient(o ClientOptions) (llmclient.Client, error) { return o.named() }

// environment returns the client of the model that options and environment name, and the provider's
// name of the model.
func (o ClientOptions) environment() (llmclient.Client, string, error) {
	getenv, model := o.lookup(), o.environmentModel()
	key := getenv(endpoint.KeyVariableOf(o.API))
	if key == "" && o.BaseURL == "" && getenv(endpoint.ServerVariableOf(o.API)) == "" {
		return nil, "", o.nothingToAsk()
	}
	if model == "" {
		return nil, "", ErrNoModel
	}
	idle, err := o.idleTimeout()
	if err != nil {
		return nil, "", err
	}
	settings := endpoint.Typed(o.API, o.BaseURL, getenv).Config(model, key)
	settings.IdleTimeout = idle
	bare, err := settings.New()
	if err != nil {
		return nil, "", err
	}
	client, err := withRetries(bare, nil, o.API, o.Policy)
	return client, model, err
}

// named is [ClientOptions.environment] for requests that name an agent instead of a model, or
// nothing.
func (o ClientOptions) named() (llmclient.Client, error) {
	client, model, err := o.environment()
	if err != nil {
		return nil, err
	}
	return llmclient.Fallback([]llmclient.Candidate{{Client: client, Model: model}}, llmclient.FallbackConfig{AfterOutput: true}), nil
}

// timeLimited is a client with a time-out for each request.
type timeLimited struct {
	client llmclient.Client
	most   time.Duration
}

// Unwrap returns the wrapped client.
func (t timeLimited) Unwrap() llmclient.Client { return t.client }

// Complete calls the wrapped client with a time-out.
func (t timeLimited) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.most, fmt.Errorf("the request took longer than %v, the timeout of the model", t.most))
	defer cancel()
	return t.client.Complete(ctx, req, onDelta)
}

// Client returns the client for the models of a setup, for an [orchestrator.Config]. It returns an
// error if a model needs a key that is not set, or if a file that was found would send a key to a
// server for which the key is not meant. The client is safe for concurrent use.
func (s *Setup) Client(o ClientOptions) (llmclient.Client, error) {
	idle, err := o.idleTimeout()
	if err != nil {
		return nil, err
	}
	all := &modelClients{file: s.config.Models, getenv: o.lookup(), idle: idle, made: map[string]llmclient.Client{}}
	if s.config.Found {
		all.foundFile = s.config.Path
	}
	router := llmclient.Router{}
	for _, by := range sortedKeys(s.models) {
		name, err := s.models[by], error(nil)
		switch {
		case by == address(s.Strategy):
			router[by], err = all.first(o, name)
		case name == "":
			router[by], err = ClientOptions{Getenv: o.Getenv, IdleTimeout: o.IdleTimeout}.named()
		default:
			router[by], err = all.client(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return router, nil
}
