// Package openaiapi holds what the clients of OpenAI's APIs have in common: they send by openai-go,
// with its keys, base URL, transport, middleware and options.
package openaiapi

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Host is the host of OpenAI.
const Host = "api.openai.com"

// Settings are the fields that the configs of these clients have in common, by their names there.
type Settings struct {
	APIKey        string
	BaseURL       string
	NoEnvironment bool
	IdleTimeout   time.Duration
	MaxRetries    int
	MaxResponse   int64
	KeepRaw       bool
	HTTPClient    *http.Client
	Options       []option.RequestOption
}

// Full returns the settings with their defaults, which may come from the environment, and the host
// name of the server. If a setting cannot be used, it returns its field and the problem.
func (s Settings) Full() (full Settings, host, field, problem string) {
	if !s.NoEnvironment {
		s.APIKey = cmp.Or(s.APIKey, os.Getenv("OPENAI_API_KEY"))
		s.BaseURL = cmp.Or(s.BaseURL, os.Getenv("OPENAI_BASE_URL"))
	}
	if wire.BadKey(s.APIKey) {
		return s, "", "APIKey", "has a line break or another control character; check it, or OPENAI_API_KEY if that is where it comes from"
	}
	s.BaseURL = cmp.Or(s.BaseURL, "https://"+Host+"/v1")
	s.IdleTimeout = cmp.Or(s.IdleTimeout, wire.DefaultIdleTimeout)
	s.MaxRetries = cmp.Or(s.MaxRetries, wire.DefaultMaxRetries)
	s.MaxResponse = cmp.Or(s.MaxResponse, wire.DefaultMaxResponse)
	if host, problem = wire.HostOf(s.BaseURL); problem != "" {
		return s, "", "BaseURL", problem
	}
	return s, host, "", ""
}

// Server sends requests to one path of one server.
type Server struct {
	wire    wire.Server
	options []option.RequestOption
}

// NewServer returns the server for settings as a user gave them, and as Full returned them. Errors
// name the package of the client.
func NewServer(client, path string, given, full Settings) *Server {
	s := &Server{options: given.options(full), wire: wire.Server{
		Package: client, BaseURL: full.BaseURL, Path: path,
		Key: full.APIKey != "", NoKey: "set APIKey or OPENAI_API_KEY",
		IdleTimeout: full.IdleTimeout, MaxResponse: full.MaxResponse, KeepRaw: full.KeepRaw,
	}}
	s.wire.Secrets.Add(full.APIKey)
	return s
}

// options returns openai-go's options; full are the settings with their defaults.
func (s Settings) options(full Settings) []option.RequestOption {
	// An administrator's key is not for models, but openai-go sends one if there is no other key.
	opts := []option.RequestOption{option.WithMiddleware(wire.BoundErrors), option.WithAdminAPIKey("")}
	_, inEnv := os.LookupEnv("OPENAI_BASE_URL")
	if s.BaseURL != "" || inEnv && !s.NoEnvironment {
		opts = append(opts, option.WithBaseURL(full.BaseURL))
	}
	if full.APIKey != "" {
		opts = append(opts, option.WithAPIKey(full.APIKey))
	}
	opts = append(opts, option.WithHTTPClient(wire.SameServerClient(s.HTTPClient, full.IdleTimeout)))
	opts = append(opts, s.Options...)
	opts = append(opts, option.WithMaxRetries(0))
	if !s.NoEnvironment {
		return openai.NewClient(opts...).Options
	}
	// A service reads no environment variables, and has no server unless one is set.
	opts = append([]option.RequestOption{option.WithEnvironmentProduction()}, opts...)
	return openai.NewChatService(opts...).Options
}

// Post begins an exchange: it sends the body, and waits for the header of an answer with a good
// status. Close the exchange, also after an error.
func (s *Server) Post(ctx context.Context, body []byte, stream bool) (*wire.Exchange, *llmclient.Error) {
	x := s.wire.Exchange(ctx)
	opts := make([]option.RequestOption, 0, 2)
	opts = append(opts, option.WithRequestBody("application/json", body))
	if stream {
		opts = append(opts, option.WithHeader("Accept", "text/event-stream"))
	}
	return x, x.Send(stream, func(ctx context.Context) (res *http.Response, err error) {
		api := openai.Client{Options: s.options}
		err = api.Post(ctx, s.wire.Path, nil, &res, opts...)
		return res, err
	})
}
