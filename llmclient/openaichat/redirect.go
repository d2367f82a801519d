package openaichat

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	maxSilence   = 10 * time.Minute // the wait for the header of an answer, as in openai-go
	maxRedirects = 10               // as in net/http
)

// sameServerClient returns the client that sends the requests: own, or one with the default
// transport. It follows no redirect to another server, because that server would receive the key,
// the headers and the conversation.
func sameServerClient(own *http.Client) *http.Client {
	client := &http.Client{Transport: http.DefaultTransport}
	if own != nil {
		*client = *own
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.ResponseHeaderTimeout = maxSilence
		client.Transport = t
	}
	allowed := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case !sameServer(req.URL, via[0].URL):
			return http.ErrUseLastResponse
		case allowed != nil:
			return allowed(req, via)
		case len(via) >= maxRedirects:
			return errors.New("too many redirects")
		default:
			return nil
		}
	}
	return client
}

// sameServer reports whether two addresses have the same scheme, host and port.
func sameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	usual := "80"
	if u.Scheme == "https" {
		usual = "443"
	}
	return cmp.Or(u.Port(), usual)
}
