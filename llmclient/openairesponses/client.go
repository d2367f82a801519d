package openairesponses

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/openaiapi"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// Client is an [llmclient.Client] for one server. It is safe for concurrent use.
type Client struct {
	style  style
	server *openaiapi.Server
	asking llmclient.Client // c itself with retries; makes the requests
	native bool             // the server is known to return each call as such
	plain  sync.Map         // of the names of models that have no encrypted reasoning
}

var _ llmclient.Client = (*Client)(nil)

// New returns a client. It makes no request: a wrong key or model is found by the first request.
// New returns an [*llmclient.ConfigError] if the config cannot be used: an invalid base URL, or a
// key that cannot be in a header.
func New(cfg Config) (*Client, error) {
	full, hostname, field, problem := cfg.settings().Full()
	if problem != "" {
		return nil, &llmclient.ConfigError{Client: "openairesponses", Field: field, Problem: problem}
	}
	c := &Client{
		native: wire.CallsNatively(hostname),
		style:  style{effort: cfg.Effort, summary: cfg.Summary, refused: &wire.Refused{}},
		server: openaiapi.NewServer("openairesponses", "responses", cfg.settings(), full),
	}
	c.asking = wire.Asking{Package: "openairesponses", Model: cfg.Model, Retries: full.MaxRetries, Once: c.once}.Client()
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

// TakesStop implements [llmclient.StopTaker]: the Responses API has no stop sequences.
func (*Client) TakesStop() bool { return false }

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

// once makes one request, and another at once if the server refuses it for its encrypted reasoning.
// What was refused is remembered, and the refused request is listed among the attempts.
func (c *Client) once(ctx context.Context, req *llmclient.Request, model string, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	s := c.style
	_, s.plain = c.plain.Load(model)
	return wire.Repeat(model, func(int) (*llmclient.Response, *llmclient.Error, bool) {
		resp, err := c.ask(ctx, req, model, s, onDelta)
		next, again := s.after(err)
		if err == nil && s.forget {
			s.refused.AddThoughts(req.Messages, func(int) string { return model }, func(t messages.Thought) json.RawMessage { return t.Extras[extraReasoning] })
		}
		if s = next; again && s.plain {
			c.plain.Store(model, true)
		}
		return resp, err, again
	})
}

// ask makes one request in a style.
func (c *Client) ask(ctx context.Context, req *llmclient.Request, model string, s style, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	body, err := s.encode(req, model, onDelta != nil)
	if err != nil {
		return nil, err
	}
	x, err := c.server.Post(ctx, body, onDelta != nil)
	defer x.Close()
	if err != nil {
		return nil, refined(err)
	}
	return x.Collect(&accumulator{Gathered: wire.Gather(ctx, req, onDelta)})
}
