package anthropic

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// Encode returns the body that a client with the config sends.
func Encode(cfg Config, req *llmclient.Request, stream bool) ([]byte, *llmclient.Error) {
	full, err := cfg.withDefaults()
	if err != nil {
		panic(err)
	}
	model := req.Model
	if model == "" {
		model = cfg.Model
	}
	return full.encode(req, model, stream, nil)
}

// ReadStream reads an answer as a client does, and tells onDelta.
func ReadStream(src io.Reader, onDelta func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	c := &Client{server: wire.Server{MaxResponse: -1}}
	x := c.server.Exchange(context.Background())
	defer x.Close()
	_ = x.Send(false, func(context.Context) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(src)}, nil
	})
	return x.Collect(&accumulator{Gathered: wire.Gathered{OnDelta: onDelta}})
}

// ReadCut reads an answer that ends with an error, or without one if that is nil.
func ReadCut(body string, end error) (*llmclient.Response, messages.Assistant, *llmclient.Error) {
	src := io.Reader(strings.NewReader(body))
	if end != nil {
		src = io.MultiReader(src, failing{end})
	}
	resp, err := ReadStream(src, nil)
	if err != nil {
		return nil, err.Partial, err
	}
	return resp, messages.Assistant{}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
