package wire

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// HostOf returns the host name in a base URL, in lower case, or what is wrong with the base URL. It
// may contain a password, so little of it is shown.
func HostOf(base string) (host, problem string) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return "", "the base URL cannot be read; it looks like https://host/v1"
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", fmt.Sprintf("the base URL %s is not http://host/… or https://host/…", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Sprintf("the base URL for %s has a query or fragment; give a query with option.WithQuery in Options", u.Hostname())
	}
	return strings.ToLower(u.Hostname()), ""
}

// BadKey reports whether a key cannot be in a header.
func BadKey(key string) bool {
	return strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// CallsNatively reports whether the server with a host name is known to return each call as such:
// those of OpenAI, of OpenAI at Azure, and of Anthropic.
func CallsNatively(host string) bool {
	return slices.ContainsFunc([]string{".openai.com", ".openai.azure.com", ".anthropic.com"}, func(domain string) bool { return strings.HasSuffix(host, domain) })
}
