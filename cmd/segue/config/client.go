package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/segue-go/segue/cmd/segue/internal/endpoint"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/textpolicy"
	"github.com/segue-go/segue/llmclient"
	messagesapi "github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/llmclient/policyclient"
	"github.com/segue-go/segue/messages"
)

// ClientOptions are options for the clients of models. All fields except Getenv apply to the model
// of the agent that is run, and override the file.
type ClientOptions struct {
	Getenv  func(name string) string // reads an environment variable, such as that of a key; nil: os.Getenv
	Model   string                   // a name from the file, or else the provider's name of the model; "": the model of the agent
	API     string                   // how the server is spoken to, as Model.API; "": as the file says, or chat
	BaseURL string                   // the server, which gets OPENAI_API_KEY, or ANTHROPIC_API_KEY; "": the server of the model
	Policy  string                   // the text format for tool calls; "": the format of the model

	// Auto returns the text format for a model whose policy is [PolicyAuto], "" for the tool calls
	// of the server. It may ask the server. It is for all models of the run; without it such a
	// model is an error.
	Auto func(server endpoint.Client, keyVariable string) (policy string, err error)

	// IdleTimeout is for all models of the run, as in [ModelLimits]; "": SEGUE_IDLE_TIMEOUT, or
	// that of each model.
	IdleTimeout string
}

// env reads an environment variable.
func (o ClientOptions) env(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// asked says how a model is asked: what the file, the options and the environment say together.
type asked struct {
	name string // in the file; "": the model of the environment
	Model
	at endpoint.Endpoint
}

// asked returns how a model of the file is asked, changed by the options; without such a model that
// of the environment. A server that an option names, and one that is asked only because the option
// API names another maker than the file does, gets the key of the environment, as without a
// configuration, and not the key of another server. The result is right for a look even if there is
// an error: a file that was found sends a key nowhere else, and does not decide which key it is.
func (o ClientOptions) asked(c *Config, name string) (asked, error) {
	if _, ok := c.Models[o.Model]; ok {
		name = o.Model
	}
	m, ok := c.Models[name]
	if !ok {
		m = Model{Model: cmp.Or(o.Model, endpoint.EnvironmentModel(o.API, o.env)), API: o.API, Policy: o.Policy}
		return asked{"", m, endpoint.Typed(o.API, o.BaseURL, o.env)}, nil
	}
	if o.Model != name {
		m.Model = cmp.Or(o.Model, m.Model)
	}
	m.Policy = cmp.Or(o.Policy, m.Policy)
	api := cmp.Or(o.API, m.API)
	var err error
	var at endpoint.Endpoint
	if o.BaseURL != "" || m.BaseURL == "" && !endpoint.SameMaker(api, m.API) {
		at = endpoint.Typed(api, o.BaseURL, o.env)
		if o.BaseURL != "" && c.Found && !endpoint.SameMaker(api, o.API) {
			err = fmt.Errorf("model %s: %s was found, not named, and its api: %s cannot decide which key the server of --base-url gets: say --api %s too",
				name, c.Path, api, api)
		}
	} else if at = endpoint.Configured(api, m.BaseURL, m.APIKeyEnv, o.env); c.Found && at.Misdirected() {
		err = fmt.Errorf("model %s: %s goes to %s alone, the server of the environment; %s was found, not named, and cannot send it to %s: name the file with --config",
			name, at.KeyVariable, at.MeantFor(), c.Path, endpoint.HostShown(at.URL))
	}
	return asked{name, m, at}, err
}

// Server returns the server of a model of the file, and how the model is asked there, changed by
// the options as by [Setup.Client]: with the key, if its variable is set. The model "" is that of
// the environment, and c may be nil for it. It returns an error if a file that was found would send
// a key to a server for which the key is not meant.
func (c *Config) Server(model string, o ClientOptions) (server endpoint.Client, keyVariable, policy string, err error) {
	if c == nil {
		c = &Config{}
	}
	a, err := o.asked(c, model)
	return a.at.Config(a.Model.Model, a.key(o)), a.at.KeyVariable, a.Policy, err
}

// key returns the key that the server is sent; "": none is set.
func (a asked) key(o ClientOptions) string {
	if a.at.KeyVariable == "" {
		return ""
	}
	return o.env(a.at.KeyVariable)
}

// missing says what has to be set before the model can be asked; nil: nothing. A server that an
// option names may need no key.
func (a asked) missing(o ClientOptions) error {
	switch variable := a.at.KeyVariable; {
	case a.name == "" && a.key(o) == "" && o.BaseURL == "" && o.env(endpoint.ServerVariableOf(o.API)) == "":
		return endpoint.NothingToAsk(o.API, o.env)
	case a.name == "" && a.Model.Model == "":
		return endpoint.ErrNoModel
	case a.name == "" || variable == "" || a.key(o) != "" || o.BaseURL != "":
		return nil
	case a.APIKeyEnv == variable:
		return fmt.Errorf("model %s: the environment variable %s, which its api_key_env names, is not set", a.name, variable)
	case o.env(endpoint.ServerVariableOf(a.at.API)) != "":
		return nil
	default:
		return fmt.Errorf("model %s: %s is not set", a.name, variable)
	}
}

// modelClients makes the clients of a configuration. Each model has one client, shared by all
// agents, because its limits apply to all of them together.
type modelClients struct {
	config *Config
	others ClientOptions // of the models that the file alone decides about
	idle   time.Duration // for all models; 0: as the file says
	made   map[string]llmclient.Client
}

func newClients(c *Config, o ClientOptions) (*modelClients, error) {
	text, named := o.IdleTimeout, "--idle-timeout"
	if text == "" {
		text, named = o.env(endpoint.IdleTimeoutVariable), endpoint.IdleTimeoutVariable
	}
	idle, err := endpoint.ParseIdleTimeout(text)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", named, plaintext.OneLine(text), err)
	}
	return &modelClients{c, ClientOptions{Getenv: o.Getenv, Auto: o.Auto}, idle, map[string]llmclient.Client{}}, nil
}

// client returns the client of a model by its name in the file.
func (m *modelClients) client(name string) (llmclient.Client, error) {
	c, ok := m.made[name]
	if ok {
		return c, nil
	}
	c, err := m.make(m.others, name)
	if err == nil {
		m.made[name] = c
	}
	return c, err
}

// make makes a client for a model, changed by the options, with its fallbacks. The client always
// requests its own model, whatever model a request names. A model whose text format cannot be found
// out is left out if there is another.
func (m *modelClients) make(o ClientOptions, name string) (llmclient.Client, error) {
	a, err := o.asked(m.config, name)
	if err == nil {
		err = a.missing(o)
	}
	if err != nil {
		return nil, err
	}
	var candidates []llmclient.Candidate
	own, untried := m.one(a, a.key(o))
	switch {
	case untried == nil:
		candidates = append(candidates, llmclient.Candidate{Client: own, Model: a.Model.Model})
	case !errors.Is(untried, errUntried):
		return nil, untried
	}
	for _, other := range a.Fallbacks {
		c, err := m.client(other)
		if errors.Is(err, errUntried) {
			continue
		}
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, llmclient.Candidate{Client: c})
	}
	if len(candidates) == 0 {
		return nil, untried
	}
	return llmclient.Fallback(candidates, llmclient.FallbackConfig{AfterOutput: true}), nil
}

// one makes the client of one model at one server. A request passes, from the outside in: text
// format, retries, rate limit, time-out.
func (m *modelClients) one(a asked, key string) (llmclient.Client, error) {
	settings, limits := a.at.Config(a.Model.Model, key), a.Limits
	a.setThinking(&settings)
	timeout, err := durationOf(limits.Timeout)
	if err == nil {
		settings.IdleTimeout, err = endpoint.ParseIdleTimeout(limits.IdleTimeout)
	}
	settings.IdleTimeout = cmp.Or(m.idle, settings.IdleTimeout)
	var c llmclient.Client
	if err == nil {
		c, err = settings.New()
	}
	if err == nil && a.Policy == PolicyAuto {
		a.Policy, err = m.found(settings, a.at.KeyVariable)
	}
	switch {
	case err != nil && a.name != "":
		return nil, fmt.Errorf("model %s: %w", a.name, err)
	case err != nil:
		return nil, err
	}
	if timeout > 0 {
		c = timeLimited{c, timeout}
	}
	if limits.RequestsPerMinute > 0 {
		c = llmclient.RateLimit(c, llmclient.RateLimitConfig{RequestsPerMinute: limits.RequestsPerMinute})
	}
	if retries := limits.Retries; retries == nil {
		c = llmclient.Retry(c, llmclient.RetryConfig{AfterOutput: true})
	} else if *retries > 0 {
		c = llmclient.Retry(c, llmclient.RetryConfig{AfterOutput: true, MaxAttempts: *retries + 1})
	}
	if a.Policy == "" {
		return c, nil
	}
	think, err := textpolicy.For(a.at.API, a.Policy)
	if err != nil {
		return nil, err
	}
	return policyclient.Wrap(c, think), nil
}

// setThinking sets how the model thinks, and what the server caches.
func (m Model) setThinking(c *endpoint.Client) {
	c.Effort, c.Summary, c.Cache = m.Effort, m.Summary, messages.Cache(m.Cache)
	c.Thinking = messagesapi.Thinking{
		Mode: messagesapi.ThinkingMode(m.Thinking.Mode), Budget: m.Thinking.Budget, Display: m.Thinking.Display,
	}
}

// PolicyAuto is the word for a text format that is found out: the best of those that were tried
// with the server and the model.
const PolicyAuto = "auto"

// errUntried begins the error that says why a text format could not be found out.
var errUntried = errors.New("policy: auto")

// found returns the text format of [PolicyAuto] for a model at a server.
func (m *modelClients) found(server endpoint.Client, keyVariable string) (string, error) {
	if m.others.Auto == nil {
		return "", errors.New("policy: auto is found out by the command segue alone: say a format, or none")
	}
	policy, err := m.others.Auto(server, keyVariable)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUntried, err)
	}
	return policy, nil
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

// EnvironmentClient returns the client of the model that options and environment name, for a run
// without a configuration. Requests need not name the model. It returns an error if there is
// neither a key nor a server. The client is safe for concurrent use.
func EnvironmentClient(o ClientOptions) (llmclient.Client, error) {
	all, err := newClients(&Config{}, o)
	if err != nil {
		return nil, err
	}
	return all.make(o, "")
}

// Client returns the client for the models of a setup, for an [orchestrator.Config]. It returns an
// error if a model needs a key that is not set, or if a file that was found would send a key to a
// server for which the key is not meant. The client is safe for concurrent use.
func (s *Setup) Client(o ClientOptions) (llmclient.Client, error) {
	all, err := newClients(s.config, o)
	if err != nil {
		return nil, err
	}
	router := llmclient.Router{}
	for _, by := range sortedKeys(s.models) {
		if name := s.models[by]; by == address(s.Strategy) {
			router[by], err = all.first(o, name)
		} else {
			router[by], err = all.client(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return router, nil
}

// first returns the client of the first agent's model, which is the client of all if the options
// change nothing of it.
func (m *modelClients) first(o ClientOptions, name string) (llmclient.Client, error) {
	if _, ok := m.config.Models[o.Model]; ok {
		name, o.Model = o.Model, ""
	}
	if o.Model+o.Policy+o.BaseURL+o.API == "" {
		return m.client(name)
	}
	return m.make(o, name)
}

// ModelNames returns the providers' names of the models that may be asked, fallbacks included,
// sorted. It needs no key.
func (s *Setup) ModelNames(o ClientOptions) []string {
	found := map[string]bool{}
	var add func(o ClientOptions, name string)
	add = func(o ClientOptions, name string) {
		a, _ := o.asked(s.config, name) // an error is about keys
		found[a.Model.Model] = true
		for _, other := range a.Fallbacks {
			add(ClientOptions{Getenv: o.Getenv}, other)
		}
	}
	for by, name := range s.models {
		if by == address(s.Strategy) {
			add(o, name)
		} else {
			add(ClientOptions{Getenv: o.Getenv}, name)
		}
	}
	return sortedKeys(found)
}
