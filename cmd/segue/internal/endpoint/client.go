package endpoint

import (
	"net/http"
	"strings"
	"time"

	"github.com/segue-go/segue/llmclient"
	messagesapi "github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/llmclient/openairesponses"
	"github.com/segue-go/segue/messages"
)

// Client says which server and model a client asks, and how: the settings that the clients of all
// APIs have, and how a model thinks, where an API ignores what it does not have. The fields mean
// what they mean in [openaichat.Config], [openairesponses.Config] and [messagesapi.Config].
type Client struct {
	API           string // one of APIs; "": Chat
	Model         string
	BaseURL       string
	APIKey        string
	Bearer        bool // the key of Anthropic is sent as a bearer token
	NoEnvironment bool // no header of the environment is sent
	IdleTimeout   time.Duration
	MaxRetries    int
	HTTPClient    *http.Client

	Effort   string               // all APIs
	Summary  string               // Responses
	Thinking messagesapi.Thinking // Anthropic
	Cache    messages.Cache       // Anthropic
}

// Config returns the settings of a client for a model at the server, with a key that may be empty.
func (e Endpoint) Config(model, key string) Client {
	return Client{
		API: e.API, Model: model, BaseURL: e.URL, APIKey: key, Bearer: e.KeyVariable == AnthropicTokenVariable,
		NoEnvironment: !e.environment || e.KeyVariable == "",
		MaxRetries:    -1, // the command itself retries, outside its rate limit, as often as the configuration says
	}
}

// New makes the client. The error is an llmclient.ConfigError.
func (c Client) New() (llmclient.Client, error) {
	switch c.API {
	case Responses:
		return made(openairesponses.New(openairesponses.Config{
			Model: c.Model, BaseURL: c.BaseURL, APIKey: c.APIKey, NoEnvironment: c.NoEnvironment,
			IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries, HTTPClient: c.HTTPClient,
			Effort: c.Effort, Summary: c.Summary,
		}))
	case Anthropic:
		cfg := messagesapi.Config{
			Model: c.Model, BaseURL: c.BaseURL, APIKey: c.APIKey, NoEnvironment: true, // it has no headers
			IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries, HTTPClient: c.HTTPClient,
			Effort: c.Effort, Thinking: c.Thinking, Cache: c.Cache,
		}
		if c.Thinking.Budget > 0 { // thoughts count as part of the reply, which is to have as much room as without them
			cfg.MaxTokens = messagesapi.DefaultMaxTokens + c.Thinking.Budget
		}
		if c.Bearer {
			cfg.APIKey, cfg.AuthToken = "", c.APIKey
		}
		return made(messagesapi.New(cfg))
	default:
		return made(openaichat.New(openaichat.Config{
			Model: c.Model, BaseURL: c.BaseURL, APIKey: c.APIKey, NoEnvironment: c.NoEnvironment,
			IdleTimeout: c.IdleTimeout, MaxRetries: c.MaxRetries, HTTPClient: c.HTTPClient,
			Effort: c.Effort,
		}))
	}
}

// made returns a client, or nil with an error.
func made[C llmclient.Client](client C, err error) (llmclient.Client, error) {
	if err != nil {
		return nil, err
	}
	return client, nil
}

// Root returns the address under which the paths of the API stand, without a slash at its end:
// BaseURL, with the version that Anthropic's need not have.
func (c Client) Root() string {
	version := makerOf(c.API).version
	return strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), version) + version
}

// RequestPath returns the path of a request for a reply, behind [Client.Root].
func (c Client) RequestPath() string {
	if c.API == Responses {
		return "responses"
	}
	return makerOf(c.API).requests
}
