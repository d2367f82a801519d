package wire

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/segue-go/segue/llmclient"
)

// versioned matches the end of the base URL of nearly every server.
var versioned = regexp.MustCompile(`/v\d+\w*(/openai)?/?$`)

// hint returns the address that was asked and what is probably wrong with it, if an error suggests
// that the address or the key is wrong; otherwise it returns "".
func (x *Exchange) hint(err *llmclient.Error) string {
	var hints []string
	switch {
	case err.Code == llmclient.CodeAuth && !x.sentKey():
		return "no key was sent: " + x.server.NoKey
	case x.isHTML():
		hints = append(hints, "the answer is a page of HTML, and not JSON")
	case err.Status == http.StatusMethodNotAllowed:
	case err.Code == llmclient.CodeNotFound && !strings.Contains(strings.ToLower(err.Type+err.Message), "model"):
	case err.Code == llmclient.CodeUnavailable && x.res == nil:
	default:
		return ""
	}
	hints = append(hints, "asked "+x.asked())
	switch base := strings.TrimRight(x.server.BaseURL, "/"); {
	case x.res == nil:
	case strings.HasSuffix(base, "/"+x.server.Path):
		hints = append(hints, "the base URL must end before /"+x.server.Path)
	case !versioned.MatchString(base):
		hints = append(hints, "most base URLs end in /v1, and this one does not")
	}
	return strings.Join(hints, "; ")
}

// sentKey reports whether the request contained a key.
func (x *Exchange) sentKey() bool {
	if x.res == nil || x.res.Request == nil {
		return x.server.Key
	}
	h := x.res.Request.Header
	return h.Get("Authorization") != "" || h.Get("Api-Key") != "" || h.Get("X-Api-Key") != ""
}

// isHTML reports whether the content type of the answer is that of a web page.
func (x *Exchange) isHTML() bool {
	return x.res != nil && strings.HasPrefix(x.res.Header.Get("Content-Type"), "text/html")
}

// asked returns the address that was asked, without what may be secret in it.
func (x *Exchange) asked() string {
	u, err := url.Parse(x.server.BaseURL)
	if err == nil {
		u = u.JoinPath(x.server.Path)
	}
	if x.res != nil && x.res.Request != nil && x.res.Request.URL != nil {
		u, err = x.res.Request.URL, nil
	}
	if err != nil {
		return "an address that cannot be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
