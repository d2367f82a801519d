package openaichat

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/llmclient"
)

// maxErrorBody limits the body of an answer with an error status.
const maxErrorBody = 1 << 20

// Client is an [llmclient.Client] for one server. It is safe for concurrent use.
type Client struct {
	cfg      Config
	dialect  dialect
	options  []option.RequestOption // options for openai-go, including those of New
	secrets  secrets
	readings sync.Pool        // readings sync.Pool        // of *reading
	asking   llmclient.Client // c itself with retries; makes the requests
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
		cfg:     full,
		dialect: newDialect(full, hostname),
		options: cfg.options(full),
	}
	c.secrets.add(full.APIKey)
	c.asking = llmclient.ClientFunc(c.once)
	if full.MaxRetries > 0 {
		c.asking = llmclient.Retry(c.asking, llmclient.RetryConfig{MaxAttempts: full.MaxRetries + 1, AfterOutput: true})
	}
	return c, nil
}

// options returns openai-go's options for a config; full is the config with its defaults.
func (cfg Config) options(full Config) []option.RequestOption {
	// Chat Completions do not use an administrator's key, but openai-go sends one if there is no
	// other key.
	opts := []option.RequestOption{option.WithMiddleware(boundErrors), option.WithAdminAPIKey("")}
	_, inEnv := os.LookupEnv("OPENAI_BASE_URL")
	if cfg.BaseURL != "" || inEnv && !cfg.NoEnvironment {
		opts = append(opts, option.WithBaseURL(full.BaseURL))
	}
	if full.APIKey != "" {
		opts = append(opts, option.WithAPIKey(full.APIKey))
	}
	opts = append(opts, option.WithHTTPClient(sameServerClient(cfg.HTTPClient, full.IdleTimeout)))
	opts = append(opts, cfg.Options...)
	opts = append(opts, option.WithMaxRetries(0))
	if !cfg.NoEnvironment {
		return openai.NewClient(opts...).Options
	}
	// A service reads no environment variables, and has no server unless one is set.
	opts = append([]option.RequestOption{option.WithEnvironmentProduction()}, opts...)
	return openai.NewChatService(opts...).Options
}

// boundErrors is a middleware that limits the bodies of errors, which openai-go reads whole.
func boundErrors(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err == nil && res != nil && res.StatusCode >= http.StatusBadRequest && res.Body != nil {
		res.Body = &limitedBody{Reader: io.LimitReader(res.Body, maxErrorBody), Closer: res.Body}
	}
	return res, err
}

type limitedBody struct {
	io.Reader
	io.Closer
}

// Complete asks the model. All errors are of type [*llmclient.Error].
//
// With onDelta the request asks for a stream. Complete also reads an answer in the other form: a
// whole answer to a streamed request is passed to onDelta at once, and without onDelta a stream is
// read to its end.
func (c *Client) Complete(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	return c.asking.Complete(ctx, req, onDelta)
}

// once makes one request.
func (c *Client) once(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) (*llmclient.Response, error) {
	model := req.Model
	if model == "" {
		model = c.cfg.Model
	}
	resp, err := c.complete(ctx, req, model, onDelta)
	if err != nil {
		if err.Model == "" {
			err.Model = model
		}
		return nil, err
	}
	if resp.Model != model {
		resp.Asked = model
	}
	return resp, nil
}

func (c *Client) complete(ctx context.Context, req *llmclient.Request, model string, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	if model == "" {
		return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Message: "openaichat: no model: set Request.Model or Config.Model"}
	}
	body, err := c.dialect.encode(req, model, onDelta != nil)
	if err != nil {
		return nil, err
	}
	x := &exchange{client: c, parent: ctx}
	defer x.close()
	if err := x.post(body, onDelta != nil); err != nil {
		return nil, err
	}
	acc := &accumulator{onDelta: onDelta, index: noIndex, names: idMaker{history: req.Messages}, endless: x.endless()}
	if onDelta != nil {
		acc.onCall = llmclient.CallDeltas(ctx)
	}
	return x.read(acc)
}

// MustNew is [New] for a constant Config: it panics if the Config cannot be used.
func MustNew(cfg Config) *Client {
	c, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return c
}
