package anthropic

import (
	"context"
	"net/http"

	"github.com/segue-go/segue/llmclient"
)

// CountTokens asks the server how many tokens the input of a request has: messages, tools, schema,
// images and documents. The model does not answer, and the count costs nothing, but has a rate
// limit of its own. Temporary errors are retried as those of Complete are. All errors are of type
// [*llmclient.Error].
func (c *Client) CountTokens(ctx context.Context, req *llmclient.Request) (int64, error) {
	resp, err := c.counting.Complete(ctx, req, nil)
	if err != nil {
		return 0, err
	}
	return resp.Usage.Input, nil
}

// countOnce asks once. The number is in the usage of the response.
func (c *Client) countOnce(ctx context.Context, req *llmclient.Request, model string, _ func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
	return c.withThoughts(req, model, func(omit omission) (*llmclient.Response, *llmclient.Error) {
		return c.count(ctx, req, model, omit)
	})
}

func (c *Client) count(ctx context.Context, req *llmclient.Request, model string, omit omission) (*llmclient.Response, *llmclient.Error) {
	body, err := c.cfg.encodeCount(req, model, omit)
	if err != nil {
		return nil, err
	}
	var answer struct {
		InputTokens *int64 `json:"input_tokens"`
	}
	if err := c.ask(ctx, http.MethodPost, "messages/count_tokens", body, &answer); err != nil {
		return nil, err
	}
	if answer.InputTokens == nil {
		return nil, &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the answer holds no number of tokens"}
	}
	resp := &llmclient.Response{Model: model}
	resp.Usage.Input = *answer.InputTokens
	return resp, nil
}

// ask makes a request whose answer is one JSON value, and decodes it into v.
func (c *Client) ask(ctx context.Context, method, path string, body []byte, v any) *llmclient.Error {
	x, err := c.send(ctx, method, path, body, false)
	defer x.Close()
	if err != nil {
		return err
	}
	return x.Decode(v)
}
