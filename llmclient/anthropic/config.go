package anthropic

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
)

// DefaultMaxTokens is the default of Config.MaxTokens.
const DefaultMaxTokens = 16000

// defaultBaseURL is the address of Anthropic.
const defaultBaseURL = "https://api.anthropic.com"

// Config says which server to ask, and how. The zero value asks Anthropic, or the server in
// ANTHROPIC_BASE_URL, with the key in ANTHROPIC_API_KEY or the token in ANTHROPIC_AUTH_TOKEN. No
// other variable and no file is read: profiles, identity tokens and headers of a gateway are given
// by Options.
//
// A redirect to another scheme, host or port is an error: no key, header or message is sent there.
type Config struct {
	Model string // used if Request.Model is ""

	// APIKey is sent as x-api-key. "" means ANTHROPIC_API_KEY, unless AuthToken is set. If there is
	// neither a key nor a token, none is sent, and the server may refuse the request.
	APIKey string

	// AuthToken is sent as a bearer token, for gateways and OAuth. "" means ANTHROPIC_AUTH_TOKEN,
	// unless there is an APIKey.
	AuthToken string

	// BaseURL is the address without "/v1/messages"; a "/v1" at its end does no harm. "" means
	// ANTHROPIC_BASE_URL or, if that is empty too, Anthropic. To add a query, use Options
	// (option.WithQuery).
	BaseURL string

	// NoEnvironment ignores the variables ANTHROPIC_*. Only the values of this Config are sent.
	// Without a BaseURL the server is Anthropic. Set it for a server for which the variables are
	// not meant.
	NoEnvironment bool

	// MaxTokens is the limit of a reply where Request.MaxTokens is 0, because the API wants a limit
	// in each request. Thoughts count. 0 means DefaultMaxTokens.
	MaxTokens int

	// Thinking says whether and how models think. The zero value leaves it to the model.
	Thinking Thinking

	// Effort is how much work the model puts into a reply, such as "low", "medium", "high", "xhigh"
	// or "max"; which of them a model takes is its own. "" leaves it to the model.
	Effort string

	// Cache caches each request as far as it goes, for that time, so that the next request of the
	// conversation reads it from the cache. Marks in messages and tools work without it. "" means
	// no such caching.
	Cache messages.Cache

	// Citations has the model name its places in documents; see [messages.Citation]. It holds for
	// all documents of a request. The API does not take it together with a Schema.
	Citations bool

	// IdleTimeout is the longest silence of the server in a streamed call: before the first byte,
	// and between two reads. Pings end a silence; time spent in onDelta does not count. 0 means
	// two minutes, negative means none. Such a silence is not retried (NoRetry of
	// [llmclient.Error]). IdleTimeout does not apply to a call that is not streamed: limit it with
	// the context.
	IdleTimeout time.Duration

	// MaxRetries is how often a request is repeated after a temporary error: a rate limit, a 5xx,
	// 529 (overloaded), or a broken connection, also in the middle of a reply, but not after a
	// silence of IdleTimeout. Each is reported, and listed in Response.Attempts; see
	// [llmclient.Retry], which waits between them. 0 means three, negative means none.
	MaxRetries int

	// MaxResponse is the greatest size of an answer in bytes; a larger answer is a CodeBadResponse.
	// 0 means 64 MiB, negative means no limit. A streamed token takes 100 to 200 bytes.
	MaxResponse int64

	// KeepRaw sets Response.Raw: to the body, or to a JSON list of the events of a stream.
	KeepRaw bool

	// HTTPClient sends the requests. nil means a client with the default transport that waits for
	// the header of an answer at most ten minutes, or the IdleTimeout if that is longer.
	HTTPClient *http.Client

	// Options are passed to anthropic-sdk-go after the fields above: headers, queries, middleware.
	// The SDK's own retries always stay 0, because they would be hidden; see MaxRetries.
	Options []option.RequestOption
}

// Thinking says whether and how a model thinks before it answers. Which modes a model takes, and
// what it does without one, depends on the model.
type Thinking struct {
	Mode ThinkingMode

	// Budget is how many tokens thoughts may take, for ThinkEnabled: at least 1024, and fewer than
	// the limit of the reply.
	Budget int

	// Display is "summarized" or "omitted": whether thoughts can be read. "" leaves it to the
	// model. Thoughts that cannot be read are sent back nevertheless.
	Display string
}

// ThinkingMode is a mode of [Thinking].
type ThinkingMode string

// The modes, with Anthropic's names.
const (
	ThinkAuto     ThinkingMode = ""         // what the model does by itself
	ThinkAdaptive ThinkingMode = "adaptive" // the model decides when and how much; see Config.Effort
	ThinkEnabled  ThinkingMode = "enabled"  // up to Budget tokens; older models know only this
	ThinkBetween  ThinkingMode = "between_tools"
	ThinkDisabled ThinkingMode = "disabled"
)

// minBudget is the least Budget that the API takes.
const minBudget = 1024

// withDefaults returns the config with its defaults, which may come from the environment.
func (cfg Config) withDefaults() (Config, error) {
	if !cfg.NoEnvironment {
		if cfg.APIKey == "" && cfg.AuthToken == "" {
			if cfg.APIKey = os.Getenv("ANTHROPIC_API_KEY"); cfg.APIKey == "" {
				cfg.AuthToken = os.Getenv("ANTHROPIC_AUTH_TOKEN")
			}
		}
		cfg.BaseURL = cmp.Or(cfg.BaseURL, os.Getenv("ANTHROPIC_BASE_URL"))
	}
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cmp.Or(cfg.BaseURL, defaultBaseURL), "/"), "/v1")
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, DefaultMaxTokens)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, wire.DefaultIdleTimeout)
	cfg.MaxRetries = cmp.Or(cfg.MaxRetries, wire.DefaultMaxRetries)
	cfg.MaxResponse = cmp.Or(cfg.MaxResponse, wire.DefaultMaxResponse)
	return cfg, cfg.check()
}

// check returns the first problem of a config with its defaults.
func (cfg Config) check() error {
	_, known := wire.CacheMark(cfg.Cache)
	const control = "has a line break or another control character; check it, or %s if that is where it comes from"
	switch {
	case wire.BadKey(cfg.APIKey):
		return unfit("APIKey", fmt.Sprintf(control, "ANTHROPIC_API_KEY"))
	case wire.BadKey(cfg.AuthToken):
		return unfit("AuthToken", fmt.Sprintf(control, "ANTHROPIC_AUTH_TOKEN"))
	case cfg.MaxTokens < 0:
		return unfit("MaxTokens", fmt.Sprintf("is %d; it is a number of tokens, or 0 for %d", cfg.MaxTokens, DefaultMaxTokens))
	case !known:
		return unfit("Cache", fmt.Sprintf("is %q; it is 5m, 1h or empty", cfg.Cache))
	}
	if _, problem := wire.HostOf(cfg.BaseURL); problem != "" {
		return unfit("BaseURL", problem)
	}
	return cfg.Thinking.check(cfg.MaxTokens)
}

func (t Thinking) check(maxTokens int) error {
	switch t.Mode {
	case ThinkAuto, ThinkAdaptive, ThinkBetween, ThinkDisabled:
		if t.Budget != 0 {
			return unfit("Thinking.Budget", fmt.Sprintf("is %d, and the mode is %q: only enabled has a budget", t.Budget, t.Mode))
		}
	case ThinkEnabled:
		if t.Budget < minBudget || t.Budget >= maxTokens {
			return unfit("Thinking.Budget", fmt.Sprintf("is %d; it is at least %d and less than MaxTokens, %d", t.Budget, minBudget, maxTokens))
		}
	default:
		return unfit("Thinking.Mode", fmt.Sprintf("is %q; it is adaptive, enabled, between_tools, disabled or empty", t.Mode))
	}
	if t.Display != "" && t.Mode != ThinkAdaptive && t.Mode != ThinkEnabled {
		return unfit("Thinking.Display", fmt.Sprintf("is %q, and the mode is %q: only adaptive and enabled have it", t.Display, t.Mode))
	}
	return nil
}

func unfit(field, problem string) error {
	return &llmclient.ConfigError{Client: "anthropic", Field: field, Problem: problem}
}
