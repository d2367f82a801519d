package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// Model is a model that the server offers. Counts that the server does not name are 0.
type Model struct {
	ID        string `json:"id"`
	Name      string `json:"display_name"`     // for people
	MaxInput  int64  `json:"max_input_tokens"` // the size of the context
	MaxOutput int64  `json:"max_tokens"`       // the most that Request.MaxTokens may be
}

// maxPages limits the requests for one list of models.
const maxPages = 20

// Models returns the models that the key may use, the newest first. It does not retry. All errors
// are of type [*llmclient.Error].
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var all []Model
	path := "models?limit=1000"
	for range maxPages {
		var page struct {
			Data    []Model `json:"data"`
			HasMore bool    `json:"has_more"`
			LastID  string  `json:"last_id"`
		}
		if err := c.ask(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if !page.HasMore || page.LastID == "" {
			break
		}
		path = "models?limit=1000&after_id=" + url.QueryEscape(page.LastID)
	}
	return all, nil
}

// value is an answer that is decoded as a whole.
type value struct{ into any }

var _ wire.Answer = (*value)(nil)

// Whole decodes the answer. An error object in it is an error.
func (v *value) Whole(body []byte) *llmclient.Error {
	var failure struct {
		Error json.RawMessage `json:"error"`
	}
	switch {
	case json.Unmarshal(body, &failure) == nil && failure.Error != nil && string(failure.Error) != "null":
		return wire.ErrorFromJSON(body)
	case json.Unmarshal(body, v.into) != nil:
		return wire.NotJSON("answer", body)
	default:
		return nil
	}
}

// Event refuses a stream.
func (v *value) Event(_, _ []byte) (bool, *llmclient.Error) {
	return true, &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the answer is an event stream"}
}

// Finished reports that nothing but the whole counts.
func (v *value) Finished() bool { return false }
