package anthropic

import (
	"context"
	"net/http"
	"net/url"
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
