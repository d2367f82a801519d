// Package endpoint determines the server of a model, and the key for that server.
package endpoint

import (
	"cmp"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/segue-go/segue/llmclient/openaichat"
)

// The environment variables of the default model.
const (
	KeyVariable    = "OPENAI_API_KEY"
	ServerVariable = "OPENAI_BASE_URL"
	variablePrefix = "OPENAI_" // prefix of variables that are meant for one server
)

// EnvironmentServer returns the server that the environment names, or OpenAI.
func EnvironmentServer(getenv func(string) string) string {
	return cmp.Or(getenv(ServerVariable), "https://api.openai.com/v1")
}

// Endpoint is a server and its key.
type Endpoint struct {
	URL         string
	KeyVariable string // the environment variable of the key; "" means no key
	environment bool   // it is the server of the environment, which gets the environment's headers
}

// Configured returns the endpoint of a model of a configuration, from the server and the variable
// that it names; "" means none. OPENAI_API_KEY goes only where the configuration sends it.
func Configured(server, variable string, getenv func(string) string) Endpoint {
	at := Endpoint{URL: cmp.Or(server, EnvironmentServer(getenv)), KeyVariable: variable}
	if server == "" {
		at.KeyVariable = cmp.Or(at.KeyVariable, KeyVariable)
	}
	at.environment = sameServer(at.URL, EnvironmentServer(getenv))
	return at
}

// Typed returns the endpoint of a server that the user typed, or of the server of the environment.
// It gets OPENAI_API_KEY.
func Typed(server string, getenv func(string) string) Endpoint {
	at := Endpoint{URL: cmp.Or(server, EnvironmentServer(getenv)), KeyVariable: KeyVariable}
	at.environment = sameServer(at.URL, EnvironmentServer(getenv))
	return at
}

// MeantForEnvironment reports whether the key is meant for the server of the environment.
func (e Endpoint) MeantForEnvironment() bool { return strings.HasPrefix(e.KeyVariable, variablePrefix) }

// Misdirected reports whether a key that is meant for the server of the environment would go to
// another server.
func (e Endpoint) Misdirected() bool {
	return e.MeantForEnvironment() && !e.environment
}

// Config returns the client configuration for a model at the server, with a key that may be empty.
func (e Endpoint) Config(model, key string) openaichat.Config {
	return openaichat.Config{
		Model: model, BaseURL: e.URL, APIKey: key, NoEnvironment: !e.environment || e.KeyVariable == "",
		MaxRetries: -1, // the command itself retries, outside its rate limit, as often as the configuration says
	}
}

// Origin returns the scheme, host and port of an endpoint; false if its address is invalid.
func (e Endpoint) Origin() (string, bool) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return "", false
	}
	return u.Scheme + "://" + hostOf(u), true
}

// sameServer reports whether two addresses have the same scheme, host and port.
func sameServer(a, b string) bool {
	u, errU := url.Parse(a)
	v, errV := url.Parse(b)
	return errU == nil && errV == nil && u.Host != "" && u.Scheme == v.Scheme && strings.EqualFold(hostOf(u), hostOf(v))
}

// hostOf returns the host of an address with its port.
func hostOf(u *url.URL) string {
	usual := "80"
	if u.Scheme == "https" {
		usual = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual))
}

// HostShown returns the host and port of an address for people. Letters that are not ASCII are
// written as in Go, because they may look like other letters.
func HostShown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	quoted := strconv.QuoteToASCII(hostOf(u))
	return quoted[1 : len(quoted)-1]
}

// Exposed reports whether data to an address is sent without encryption.
func Exposed(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return !strings.EqualFold(u.Hostname(), "localhost") && (ip == nil || !ip.IsLoopback())
}
