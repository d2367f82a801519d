package openaichat

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
)

// The defaults of [Config].
const (
	DefaultIdleTimeout = 2 * time.Minute
	DefaultMaxRetries  = 3
	DefaultMaxResponse = 64 << 20
)

// Config says which server is asked, and how. The zero value asks OpenAI with the key in
// OPENAI_API_KEY, or whoever stands in OPENAI_BASE_URL. openai-go reads OPENAI_ORG_ID,
// OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS besides, and sends them to any BaseURL; see
// NoEnvironment.
//
// A redirect to another scheme, host or port is an error. No key, header or message goes there.
type Config struct {
	Model string // asked where Request.Model is ""

	// APIKey is sent as a bearer token. "" means OPENAI_API_KEY; if that is empty too, none is
	// sent, and it is up to the server to mind.
	APIKey string

	// BaseURL is the address up to and without "/chat/completions", such as
	// "https://openrouter.ai/api/v1". "" means OPENAI_BASE_URL; if that is empty too, OpenAI. A
	// query belongs into Options (option.WithQuery).
	BaseURL string

	// NoEnvironment takes nothing from the variables OPENAI_*: no key, no server, no organization,
	// no project and no headers. What is sent is what this config holds. Without BaseURL the server
	// is OpenAI. A server that is not the one that the environment is meant for needs it.
	NoEnvironment bool

	// IdleTimeout is the longest silence of the server in a streamed call: before the first byte
	// and between any two reads. Comments count as signs of life; the time spent in onDelta does
	// not count. 0 means DefaultIdleTimeout, negative means none. A model that thinks in silence
	// needs more. A call that is not streamed may be silent for as long as it takes: bound it with
	// the context.
	IdleTimeout time.Duration

	// MaxRetries is how often a request is made again after an error that may pass: a rate limit, a
	// 5xx, a broken connection, also in the midst of a reply. Each is told, and listed in
	// Response.Attempts; see [llmclient.Retry], which waits between them. 0 means
	// DefaultMaxRetries, negative means none.
	MaxRetries int

	// MaxResponse is the most bytes of an answer that are read; beyond it is CodeBadResponse. 0
	// means DefaultMaxResponse, negative means no bound. A streamed token takes 200 to 400 bytes.
	MaxResponse int64

	// KeepRaw fills Response.Raw: with the body, or with a JSON list of the events of a stream,
	// without [DONE].
	KeepRaw bool

	Reasoning  Reasoning  // what goes back of a model's thoughts and signatures
	TokenField TokenField // the name that Request.MaxTokens is sent under

	// HTTPClient sends the requests. nil means a client with the default transport, and at most ten
	// minutes until the header of an answer.
	HTTPClient *http.Client

	// Options are given to openai-go after the fields above: headers, queries, middleware.
	// openai-go's own retries stay 0 whatever they say, since they would be hidden; see MaxRetries.
	// A base URL set here is not seen by the defaults that depend on the host.
	Options []option.RequestOption
}

// TokenField is the name of the field that bounds the tokens of a reply.
type TokenField string

// OpenAI's reasoning models refuse max_tokens; many other servers know nothing else.
const (
	TokensAuto          TokenField = "" // max_completion_tokens for OpenAI and Azure, max_tokens for all others
	TokensMax           TokenField = "max_tokens"
	TokensMaxCompletion TokenField = "max_completion_tokens"
)

// ConfigError says which field of a [Config] cannot be used, why, and what to do. It shows no key
// and no password.
type ConfigError struct {
	Field   string
	Problem string
}

// Error names the field.
func (e *ConfigError) Error() string { return "openaichat: " + e.Field + ": " + e.Problem }

// withDefaults returns the config with its defaults, and the host asked.
func (cfg Config) withDefaults() (Config, string, error) {
	if cfg.APIKey == "" && !cfg.NoEnvironment {
		cfg.APIKey = os.Getenv("OPENAI_API_KEY")
	}
	if strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return cfg, "", &ConfigError{Field: "APIKey", Problem: "has a line break or another control character; check it, or OPENAI_API_KEY if that is where it comes from"}
	}
	if cfg.BaseURL == "" && !cfg.NoEnvironment {
		cfg.BaseURL = os.Getenv("OPENAI_BASE_URL")
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = "https://" + openAIHost + "/v1"
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = DefaultIdleTimeout
	}
	if cfg.MaxRetries == 0 {
		cfg.MaxRetries = DefaultMaxRetries
	}
	if cfg.MaxResponse == 0 {
		cfg.MaxResponse = DefaultMaxResponse
	}
	switch cfg.TokenField {
	case TokensAuto, TokensMax, TokensMaxCompletion:
	default:
		return cfg, "", &ConfigError{Field: "TokenField", Problem: fmt.Sprintf("is %q; it is max_tokens, max_completion_tokens or empty", cfg.TokenField)}
	}
	switch cfg.Reasoning {
	case ReasoningAuto, ReasoningNever, ReasoningAlways:
	default:
		return cfg, "", &ConfigError{Field: "Reasoning", Problem: fmt.Sprintf("is %q; it is auto (empty), never or always", cfg.Reasoning)}
	}
	hostname, err := hostnameOf(cfg.BaseURL)
	return cfg, hostname, err
}

// hostnameOf checks a base URL. It may hold a password, so errors show little of it.
func hostnameOf(base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return "", &ConfigError{Field: "BaseURL", Problem: "the base URL cannot be read; it looks like https://host/v1"}
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", &ConfigError{Field: "BaseURL", Problem: fmt.Sprintf("the base URL %s is not http://host/… or https://host/…", u.Redacted())}
	case u.RawQuery != "" || u.Fragment != "":
		return "", &ConfigError{Field: "BaseURL", Problem: fmt.Sprintf("the base URL for %s has a query or fragment; give a query with option.WithQuery in Options", u.Hostname())}
	}
	return strings.ToLower(u.Hostname()), nil
}
