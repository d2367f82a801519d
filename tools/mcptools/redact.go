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

// redactor replaces the secrets of a server's configuration in texts.
type redactor struct {
	secrets []string // longest first
}

const redacted = "[redacted]"

// newRedactor returns a redactor of the values of headers, of those of the environment, and of the
// user and the query of the address.
func newRedactor(cfg *Config) *redactor {
	_, secrets := environment(cfg.Env)
	for _, value := range cfg.Headers {
		secrets = append(secrets, value)
		if _, rest, ok := strings.Cut(value, " "); ok { // "Bearer" and the key
			secrets = append(secrets, rest)
		}
	}
	if u, err := url.Parse(cfg.URL); err == nil && cfg.URL != "" {
		if u.User != nil {
			secrets = append(secrets, u.User.String(), u.User.Username())
			if password, ok := u.User.Password(); ok {
				secrets = append(secrets, password)
			}
		}
		if u.RawQuery != "" {
			secrets = append(secrets, u.RawQuery)
		}
		for _, values := range u.Query() {
			secrets = append(secrets, values...)
		}
	}
	r := new(redactor)
	for _, s := range secrets {
		if len(s) >= shortest {
			r.secrets = append(r.secrets, s)
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	r.secrets = slices.Compact(r.secrets)
	return r
}

// text returns s without the secrets.
func (r *redactor) text(s string) string {
	for _, secret := range r.secrets {
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
