package endpoint

import (
	"cmp"
	"strings"
)

// The APIs that a server can speak, as configurations and --api name them.
const (
	Chat      = "chat"      // Chat Completions of OpenAI, which most servers speak; the default
	Responses = "responses" // Responses of OpenAI
	Anthropic = "anthropic" // Messages of Anthropic
)

// APIs are the names of all APIs. The first is the default.
var APIs = []string{Chat, Responses, Anthropic}

// The environment variables of the default models. [KeyVariable] and [ServerVariable] are those of
// Chat Completions and Responses.
const (
	KeyVariable    = "OPENAI_API_KEY"
	ServerVariable = "OPENAI_BASE_URL"

	AnthropicKeyVariable    = "ANTHROPIC_API_KEY"
	AnthropicTokenVariable  = "ANTHROPIC_AUTH_TOKEN" // only where a configuration names it: a bearer token
	AnthropicServerVariable = "ANTHROPIC_BASE_URL"
)

// maker is who has made an API: the variables that are meant for its server, and that server.
type maker struct {
	prefix      string // of all variables that are meant for the server alone
	key, server string // variables
	usual       string // the server if its variable is not set
	requests    string // the path of a request, behind the base URL
	version     string // what base URLs may end with, and need not
}

var (
	openAI    = maker{"OPENAI_", KeyVariable, ServerVariable, "https://api.openai.com/v1", "chat/completions", ""}
	anthropic = maker{"ANTHROPIC_", AnthropicKeyVariable, AnthropicServerVariable, "https://api.anthropic.com", "messages", "/v1"}
)

// makerOf returns the maker of an API; "" is Chat.
func makerOf(api string) maker {
	if api == Anthropic {
		return anthropic
	}
	return openAI
}

// address returns the server of the maker that the environment names, or the usual one.
func (m maker) address(getenv func(string) string) string {
	return cmp.Or(getenv(m.server), m.usual)
}

// meantFor returns the maker for whose server alone a variable is meant; false if there is none.
func meantFor(variable string) (maker, bool) {
	for _, m := range []maker{openAI, anthropic} {
		if strings.HasPrefix(variable, m.prefix) {
			return m, true
		}
	}
	return maker{}, false
}

// SameMaker reports whether two APIs have the same variables and the same usual server.
func SameMaker(a, b string) bool { return makerOf(a) == makerOf(b) }

// KeyVariableOf returns the variable with the key of the default model of an API.
func KeyVariableOf(api string) string { return makerOf(api).key }

// ServerVariableOf returns the variable with the server of the default model of an API.
func ServerVariableOf(api string) string { return makerOf(api).server }
