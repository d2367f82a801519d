package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// DefaultModel is the model that is used if nothing names one, and the API is not Anthropic's.
const DefaultModel = "gpt-5-mini"

// ErrNoModel says that nothing names a model for Anthropic's API, which has no default here.
var ErrNoModel = errors.New("no model is named, and the API of Anthropic has no default here: say which, with --model or SEGUE_MODEL; segue models --api anthropic lists them")

// EnvironmentModel returns the model that the environment names for an API, or the usual one; "":
// there is none.
func EnvironmentModel(api string, getenv func(string) string) string {
	usual := DefaultModel
	if api == Anthropic {
		usual = ""
	}
	return cmp.Or(getenv("SEGUE_MODEL"), usual)
}

// NothingToAsk says that the environment has neither a key nor a server, and what to set.
func NothingToAsk(api string, getenv func(string) string) error {
	key, server := KeyVariableOf(api), ServerVariableOf(api)
	if api == "" && getenv(AnthropicKeyVariable) != "" {
		return fmt.Errorf("%s is not set, and %s is: say --api anthropic -m MODEL to ask Anthropic, or set %s, or name a server with --base-url or %s; segue demo needs neither",
			key, AnthropicKeyVariable, key, server)
	}
	return fmt.Errorf("there is no model to ask: set %s, or name a server with --base-url or %s; segue demo needs neither", key, server)
}

// IdleTimeoutVariable is the environment variable of the idle timeout of all models. It overrides
// configurations.
const IdleTimeoutVariable = "SEGUE_IDLE_TIMEOUT"

// NoTimeout is the word for an idle timeout that never ends a request.
const NoTimeout = "none"

// ParseIdleTimeout reads an idle timeout: a duration above zero, such as 90s, or [NoTimeout]. It
// returns 0 for "", and a negative duration for NoTimeout.
func ParseIdleTimeout(text string) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case NoTimeout:
		return -1, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration above zero, such as 90s or 10m, or none")
	}
	return d, nil
}
