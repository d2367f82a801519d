package mcptools

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// shortest is the length of the shortest value that is taken for a secret: a shorter one, such as
// "1", would be found all over a text.
const shortest = 4

// shortestKey is the same for the keys that are replaced in results.
const shortestKey = 8

// redactor replaces the secrets of a server's configuration in texts.
type redactor struct {
	secrets []string // longest first; everything that may be one
	keys    []string // those that are one by their name; a model may need the others for its calls
}

const redacted = "[redacted]"

// newRedactor returns a redactor of the values of headers, of those of the environment, and of the
// user and the query of the address. Those whose names say so, and a password, are keys.
func newRedactor(cfg *Config) *redactor {
	var secrets, keys []string
	add := func(key bool, values ...string) {
		if secrets = append(secrets, values...); key {
			keys = append(keys, values...)
		}
	}
	for name, value := range cfg.Headers {
		_, rest, _ := strings.Cut(value, " ") // "Bearer" and the key
		add(isKey(name), value, rest)
	}
	for _, entry := range cfg.Env {
		name, _, _ := strings.Cut(entry, "=")
		_, values := environment([]string{entry})
		add(isKey(name), values...)
	}
	if u, err := url.Parse(cfg.URL); err == nil {
		if u.User != nil {
			password, _ := u.User.Password()
			add(false, u.User.String(), u.User.Username())
			add(true, password)
		}
		add(false, u.RawQuery)
		for name, values := range u.Query() {
			add(isKey(name), values...)
		}
	}
	return &redactor{secrets: longestFirst(secrets, shortest), keys: longestFirst(keys, shortestKey)}
}

// keyWords are the words in a name of which one says that the value is a key.
var keyWords = []string{"auth", "cookie", "credential", "key", "pass", "secret", "session", "signature", "token"}

// isKey reports whether a value is a key, by its name.
func isKey(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(name, word) })
}

// longestFirst returns the values that are long enough, each once.
func longestFirst(values []string, least int) []string {
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < least })
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	return slices.Compact(values)
}

// text returns s without the secrets.
func (r *redactor) text(s string) string { return without(s, r.secrets) }

// result returns the text of a result without the keys.
func (r *redactor) result(s string) string { return without(s, r.keys) }

func without(s string, secrets []string) string {
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	return s
}

// longest returns the length of the longest secret.
func (r *redactor) longest() int {
	if len(r.secrets) == 0 {
		return 0
	}
	return len(r.secrets[0])
}
