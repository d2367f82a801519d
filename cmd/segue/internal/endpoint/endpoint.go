package main

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
	openAIKey    = "OPENAI_API_KEY"
	openAIServer = "OPENAI_BASE_URL"
	openAIPrefix = "OPENAI_" // of all that is meant for one server
)

// environmentServer returns the server that the environment names, or OpenAI.
func environmentServer(getenv func(string) string) string {
	return cmp.Or(getenv(openAIServer), "https://api.openai.com/v1")
}

// account is a server, and whose key it is sent.
type account struct {
	url         string
	variable    string // of the key; "" is none
	environment bool   // it is the server that the environment names: the headers of the environment are for it
}

// configuredEndpoint returns the endpoint of a model of a configuration, by the server and the variable
// that it names; "" is none. OPENAI_API_KEY goes to nobody whom the file does not send it to.
func configuredEndpoint(server, variable string, getenv func(string) string) account {
	at := account{url: cmp.Or(server, environmentServer(getenv)), variable: variable}
	if server == "" {
		at.variable = cmp.Or(at.variable, openAIKey)
	}
	at.environment = sameServer(at.url, environmentServer(getenv))
	return at
}

// typedEndpoint returns the endpoint of a server that the user typed, or of that of the environment.
// It is sent OPENAI_API_KEY.
func typedEndpoint(server string, getenv func(string) string) account {
	at := account{url: cmp.Or(server, environmentServer(getenv)), variable: openAIKey}
	at.environment = sameServer(at.url, environmentServer(getenv))
	return at
}

// meantForEnvironment reports whether the variable of the key holds a secret for the server that
// the environment names.
func (a account) meantForEnvironment() bool { return strings.HasPrefix(a.variable, openAIPrefix) }

// misdirected reports whether a secret that is meant for the server of the environment would go to
// another one.
func (a account) misdirected() bool {
	return a.meantForEnvironment() && !a.environment
}

// config returns how the server is asked for a model, with a key that may be empty.
func (a account) config(model, key string) openaichat.Config {
	return openaichat.Config{Model: model, BaseURL: a.url, APIKey: key, NoEnvironment: !a.environment || a.variable == ""}
}

// origin returns the scheme, host and port of an endpoint; false if its address cannot be read.
func (a account) origin() (string, bool) {
	u, err := url.Parse(a.url)
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

// hostShown returns the host and port of an address for people. A letter that is not ASCII is
// written as in Go, since it may look like another one.
func hostShown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	quoted := strconv.QuoteToASCII(hostOf(u))
	return quoted[1 : len(quoted)-1]
}

// exposed reports whether what goes to an address can be read on its way.
func exposed(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return !strings.EqualFold(u.Hostname(), "localhost") && (ip == nil || !ip.IsLoopback())
}
