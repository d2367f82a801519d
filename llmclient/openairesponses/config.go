package openairesponses

import (
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/llmclient/internal/openaiapi"
)

// Config says which server to ask, and how. The zero value asks OpenAI, or the server in
// OPENAI_BASE_URL, with the key in OPENAI_API_KEY. openai-go also reads OPENAI_ORG_ID,
// OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, and sends them to any BaseURL; see NoEnvironment.
//
// A redirect to another scheme, host or port is an error: no key, header or message is sent there.
type Config struct {
	Model string // used if Request.Model is ""

	// APIKey is sent as a bearer token. "" means OPENAI_API_KEY. If that is empty too, no key is
	// sent, and the server may refuse the request.
	APIKey string

	// BaseURL is the address without "/responses", such as "https://api.openai.com/v1". "" means
	// OPENAI_BASE_URL or, if that is empty too, OpenAI. To add a query, use Options
	// (option.WithQuery).
	BaseURL string

	// NoEnvironment ignores the variables OPENAI_*: key, server, organization, project and headers.
	// Only the values of this Config are sent. Without a BaseURL the server is OpenAI. Set it for a
	// server for which the variables are not meant.
	NoEnvironment bool

	// Effort is how much a model reasons, in the provider's words: "none", "minimal", "low",
	// "medium", "high", "xhigh" or "max". "" leaves it to the model. Models that do not reason
	// refuse it.
	Effort string

	// Summary asks for summaries of the reasoning, which become [messages.Thought]: "auto",
	// "concise" or "detailed". "" asks for none: thoughts then have no text, and are sent back all
	// the same. Models that do not reason refuse it.
	Summary string

	// IdleTimeout is the longest silence of the server in a streamed call: before the first byte,
	// and between two reads. Comments of the stream end a silence; time spent in onDelta does not
	// count. 0 means two minutes, negative means none. A model that thinks silently needs
	// more, so such a silence is not retried (NoRetry of [llmclient.Error]). IdleTimeout does not
	// apply to a call that is not streamed: limit it with the context.
	IdleTimeout time.Duration

	// MaxRetries is how often a request is repeated after a temporary error: a rate limit, a 5xx,
	// or a broken connection, also in the middle of a reply, but not after a silence of
	// IdleTimeout. Each is reported, and listed in Response.Attempts; see [llmclient.Retry], which
	// waits between them. 0 means three, negative means none.
	MaxRetries int

	// MaxResponse is the greatest size of an answer in bytes; a larger answer is a CodeBadResponse.
	// 0 means 64 MiB, negative means no limit. A streamed token takes 200 to 400 bytes.
	MaxResponse int64

	// KeepRaw sets Response.Raw: to the body, or to a JSON list of the events of a stream.
	KeepRaw bool

	// HTTPClient sends the requests. nil means a client with the default transport that waits for
	// the header of an answer at most ten minutes, or the IdleTimeout if that is longer.
	HTTPClient *http.Client

	// Options are passed to openai-go after the fields above: headers, queries, middleware.
	// openai-go's own retries always stay 0, because they would be hidden; see MaxRetries.
	Options []option.RequestOption
}

// settings returns the fields that every client of OpenAI's APIs has.
func (cfg Config) settings() openaiapi.Settings {
	return openaiapi.Settings{
		APIKey: cfg.APIKey, BaseURL: cfg.BaseURL, NoEnvironment: cfg.NoEnvironment,
		IdleTimeout: cfg.IdleTimeout, MaxRetries: cfg.MaxRetries, MaxResponse: cfg.MaxResponse, KeepRaw: cfg.KeepRaw,
		HTTPClient: cfg.HTTPClient, Options: cfg.Options,
	}
}
