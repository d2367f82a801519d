package openaichat

import (
	"context"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/openaiapi"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Client is an [llmclient.Client] for one server. It is safe for concurrent use.
type Client struct {
	dialect dialect
	server  *openaiapi.Server
	asking  llmclient.Client // c itself with retries; makes the requests
	native  bool             // the server is known to return each call as such
}

var _ llmclient.Client = (*Client)(nil)

// New returns a client. It makes no request: a wrong key or model is found by the first request.
// New returns an error if the config cannot be used: an invalid base URL, a key that cannot be in a
// header, or an unknown choice.
func New(cfg Config) (*Client, error) {
	full, hostname, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{
		native:  wire.CallsNatively(hostname),
		dialect: newDialect(cfg, hostname),
		server:  openaiapi.NewServer("openaichat", "chat/completions", cfg.settings(), full),
	}
	c.asking = wire.Asking{Package: "openaichat", Model: cfg.Model, Retries: full.MaxRetries, Once: c.once}.Client()
	return c, nil
}

// TakesStop implements [llmclient.StopTaker]: models of OpenAI that reason take none.
func (c *Client) TakesStop() bool { return !c.native }

// CallsNatively implements [llmclient.NativeCaller].
func (c *Client) CallsNatively(*llmclient.Request) bool { return c.native }

// Complete asks the model. All errors are of type [*llmclient.Error].
//
// With onDelta, or if the reply is watched ([llmclient.WithWatch]) and the server can, the request
// asks for a stream. Complete also reads an answer in the other form: a whole answer to a streamed
// request is passed to onDelta at once, and without onDelta a stream is read to its end.
func (c *Client) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	return c.asking.Complete(ctx, req, onDelta)
}

// once makes one request.
func (c *Client) once(ctx context.Context, req *llmclient.Request, model string, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	body, err := c.dialect.encode(req, model, onDelta != nil)
	if err != nil {
		return nil, err
	}
	x, err := c.server.Post(ctx, body, onDelta != nil)
	defer x.Close()
	if err != nil {
		return nil, err
	}
	resp, err := x.Collect(&accumulator{
		Gathered: wire.Gather(ctx, req, onDelta), index: noIndex, calls: calls{offered: req.Tools}, endless: x.Endless(),
	})
	return x.WithCall(req, resp, err)
}

// MustNew is [New] for a constant Config: it panics if the Config cannot be used.
func MustNew(cfg Config) *Client {
	c, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return c
}
