// Package endpoint says which server a model is asked at, and whose key that server is sent.
package endpoint

import (
	"cmp"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/segue-go/segue/llmclient/openaichat"
)

// The environment variables of the model that nobody names.
const (
	KeyVariable    = "OPENAI_API_KEY"
	ServerVariable = "OPENAI_BASE_URL"
	variablePrefix = "OPENAI_" // of all that is meant for one server
)

// EnvironmentServer returns the server that the environment names, or OpenAI.
func EnvironmentServer(getenv func(string) string) string {
	return cmp.Or(getenv(ServerVariable), "https://api.openai.com/v1")
}

// Endpoint is a server, and whose key it is sent.
type Endpoint struct {
	URL         string
	KeyVariable string // the environment variable of the key; "" is none
	environment bool   // it is the server that the environment names: the headers of the environment are for it
}

// Configured returns the endpoint of a model of a configuration, by the server and the variable
// that it names; "" is none. OPENAI_API_KEY goes to nobody whom the file does not send it to.
func Configured(server, variable string, getenv func(string) string) Endpoint {
	at := Endpoint{URL: cmp.Or(server, EnvironmentServer(getenv)), KeyVariable: variable}
	if server == "" {
		at.KeyVariable = cmp.Or(at.KeyVariable, KeyVariable)
	}
	at.environment = sameServer(at.URL, EnvironmentServer(getenv))
	return at
}

// Typed returns the endpoint of a server that the user typed, or of that of the environment.
// It is sent OPENAI_API_KEY.
func Typed(server string, getenv func(string) string) Endpoint {
	at := Endpoint{URL: cmp.Or(server, EnvironmentServer(getenv)), KeyVariable: KeyVariable}
	at.environment = sameServer(at.URL, EnvironmentServer(getenv))
	return at
}

// MeantForEnvironment reports whether the variable of the key holds a secret for the server that
// the environment names.
func (e Endpoint) MeantForEnvironment() bool { return strings.HasPrefix(e.KeyVariable, variablePrefix) }

// Misdirected reports whether a secret that is meant for the server of the environment would go to
// another one.
func (e Endpoint) Misdirected() bool {
	return e.MeantForEnvironment() && !e.environment
}

// Config returns how the server is asked for a model, with a key that may be empty.
func (e Endpoint) Config(model, key string) openaichat.Config {
	return openaichat.Config{
		Model: model, BaseURL: e.URL, APIKey: key, NoEnvironment: !e.environment || e.KeyVariable == "",
		MaxRetries: -1, // the configuration says how often, and the command tries again outside its rate limit
	}
}

// Origin returns the scheme, host and port of an endpoint; false if its address cannot be read.
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

// HostShown returns the host and port of an address for people. A letter that is not ASCII is
// written as in Go, since it may look like another one.
func HostShown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	quoted := strconv.QuoteToASCII(hostOf(u))
	return quoted[1 : len(quoted)-1]
}

// Exposed reports whether what goes to an address can be read on its way.
func Exposed(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return !strings.EqualFold(u.Hostname(), "localhost") && (ip == nil || !ip.IsLoopback())
}
