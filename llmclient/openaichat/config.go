package openaichat

import (
	"fmt"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/segue-go/segue/llmclient"
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

	// BaseURL is the address without "/chat/completions", such as "https://openrouter.ai/api/v1".
	// "" means OPENAI_BASE_URL or, if that is empty too, OpenAI. To add a query, use Options
	// (option.WithQuery).
	BaseURL string

	// NoEnvironment ignores the variables OPENAI_*: key, server, organization, project and headers.
	// Only the values of this Config are sent. Without a BaseURL the server is OpenAI. Set it for a
	// server for which the variables are not meant.
	NoEnvironment bool

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

	// KeepRaw sets Response.Raw: to the body, or to a JSON list of the events of a stream, without
	// [DONE].
	KeepRaw bool

	Reasoning  Reasoning  // which thoughts and signatures of a model are sent back
	TokenField TokenField // the field name for Request.MaxTokens

	// Effort is how much a model reasons, in the provider's words, such as "none", "minimal",
	// "low", "medium" or "high": the field reasoning_effort of requests without it among their
	// Extras. "" leaves it to the model. Models that do not reason may refuse it.
	Effort string

	// SendRefused sends also what the server is known to refuse, such as cache marks to OpenAI.
	// Without it, Complete returns a [llmclient.CodeBadRequest] and sends nothing.
	SendRefused bool

	// HTTPClient sends the requests. nil means a client with the default transport that waits for
	// the header of an answer at most ten minutes, or the IdleTimeout if that is longer.
	HTTPClient *http.Client

	// Options are passed to openai-go after the fields above: headers, queries, middleware.
	// openai-go's own retries always stay 0, because they would be hidden; see MaxRetries. Defaults
	// that depend on the host ignore a base URL set here.
	Options []option.RequestOption
}

// TokenField is the name of the field that limits the tokens of a reply.
type TokenField string

// The fields. OpenAI's reasoning models refuse max_tokens; many other servers know only that.
const (
	TokensAuto          TokenField = "" // max_completion_tokens for OpenAI and Azure, max_tokens for all others
	TokensMax           TokenField = "max_tokens"
	TokensMaxCompletion TokenField = "max_completion_tokens"
)

// settings returns the fields that every client of OpenAI's APIs has.
func (cfg Config) settings() openaiapi.Settings {
	return openaiapi.Settings{
		APIKey: cfg.APIKey, BaseURL: cfg.BaseURL, NoEnvironment: cfg.NoEnvironment,
		IdleTimeout: cfg.IdleTimeout, MaxRetries: cfg.MaxRetries, MaxResponse: cfg.MaxResponse, KeepRaw: cfg.KeepRaw,
		HTTPClient: cfg.HTTPClient, Options: cfg.Options,
	}
}

// withDefaults returns the settings with their defaults, and the host name of the server.
func (cfg Config) withDefaults() (full openaiapi.Settings, hostname string, err error) {
	full, hostname, field, problem := cfg.settings().Full()
	switch {
	case problem != "":
	case cfg.TokenField != TokensAuto && cfg.TokenField != TokensMax && cfg.TokenField != TokensMaxCompletion:
		field, problem = "TokenField", fmt.Sprintf("is %q; it is max_tokens, max_completion_tokens or empty", cfg.TokenField)
	case cfg.Reasoning != ReasoningAuto && cfg.Reasoning != ReasoningNever && cfg.Reasoning != ReasoningAlways:
		field, problem = "Reasoning", fmt.Sprintf("is %q; it is auto (empty), never or always", cfg.Reasoning)
	}
	if problem != "" {
		return full, "", &llmclient.ConfigError{Client: "openaichat", Field: field, Problem: problem}
	}
	return full, hostname, nil
}
