package anthropic

import (
	"context"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Client is an [llmclient.Client] for one server. It is safe for concurrent use.
type Client struct {
	cfg      Config
	options  []option.RequestOption // for the SDK
	server   wire.Server
	asking   llmclient.Client // c itself with retries; asks for replies
	counting llmclient.Client // asks for the number of tokens, which it returns as Usage.Input
	refused  wire.Refused     // thoughts that are not sent, in the scopes of scopesOf
}

var _ llmclient.Client = (*Client)(nil)

// New returns a client. It makes no request: a wrong key or model is found by the first request.
// New returns an [*llmclient.ConfigError] if the config cannot be used.
func New(cfg Config) (*Client, error) {
	full, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: full, options: full.options(), server: wire.Server{
		Package: "anthropic", BaseURL: full.BaseURL + "/v1", Path: "messages",
		Key: full.APIKey != "" || full.AuthToken != "", NoKey: "set APIKey or ANTHROPIC_API_KEY",
		IdleTimeout: full.IdleTimeout, MaxResponse: full.MaxResponse, KeepRaw: full.KeepRaw,
	}}
	c.server.Secrets.Add(full.APIKey, full.AuthToken)
	asking := wire.Asking{Package: "anthropic", Model: full.Model, Retries: full.MaxRetries, Once: c.once}
	c.asking = asking.Client()
	asking.Once = c.countOnce
	c.counting = asking.Client()
	return c, nil
}

// MustNew is [New] for a constant Config: it panics if the Config cannot be used.
func MustNew(cfg Config) *Client {
	c, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return c
}

// options returns the SDK's options for a config with its defaults. The SDK's own defaults, which
// come from variables and files, are not among them.
func (cfg Config) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithMiddleware(wire.BoundErrors), option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(wire.SameServerClient(cfg.HTTPClient, cfg.IdleTimeout)),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	if cfg.AuthToken != "" {
		opts = append(opts, option.WithAuthToken(cfg.AuthToken))
	}
	opts = append(opts, cfg.Options...)
	return append(opts, option.WithMaxRetries(0))
}

// CallsNatively implements [llmclient.NativeCaller].
func (c *Client) CallsNatively(*llmclient.Request) bool {
	host, _ := wire.HostOf(c.cfg.BaseURL)
	return wire.CallsNatively(host)
}

// Complete asks the model. All errors are of type [*llmclient.Error].
//
// With onDelta, or if the reply is watched ([llmclient.WithWatch]) and the server can, the request
// asks for a stream. Complete also reads an answer in the other form: a whole answer to a streamed
// request is passed to onDelta at once, and without onDelta a stream is read to its end.
func (c *Client) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	return c.asking.Complete(ctx, req, onDelta)
}

// once asks for a reply.
func (c *Client) once(ctx context.Context, req *llmclient.Request, model string, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	return c.withThoughts(req, model, func(omit omission) (*llmclient.Response, *llmclient.Error) {
		return c.reply(ctx, req, model, omit, onDelta)
	})
}

// reply makes one request for a reply.
func (c *Client) reply(ctx context.Context, req *llmclient.Request, model string, omit omission, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	body, err := c.cfg.encode(req, model, onDelta != nil, omit)
	if err != nil {
		return nil, err
	}
	x, err := c.send(ctx, http.MethodPost, "messages", body, onDelta != nil)
	defer x.Close()
	if err != nil {
		return nil, err
	}
	resp, err := x.Collect(&accumulator{Gathered: wire.Gather(ctx, req, onDelta)})
	return x.WithCall(req, resp, err)
}

// send begins an exchange: it sends the body, or nothing if that is nil, and waits for the header
// of an answer with a good status. Close the exchange, also after an error.
func (c *Client) send(ctx context.Context, method, path string, body []byte, stream bool) (*wire.Exchange, *llmclient.Error) {
	server := c.server
	server.Path, _, _ = strings.Cut(path, "?")
	x := server.Exchange(ctx)
	return x, x.Send(stream, func(ctx context.Context) (res *http.Response, err error) {
		api := sdk.Client{Options: c.options}
		var params any
		if body != nil {
			params = body
		}
		if stream {
			err = api.Execute(ctx, method, "v1/"+path, params, &res, option.WithHeader("Accept", "text/event-stream"))
		} else {
			err = api.Execute(ctx, method, "v1/"+path, params, &res)
		}
		return res, err
	})
}
