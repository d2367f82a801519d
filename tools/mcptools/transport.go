package mcptools

import (
	"context"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport returns a transport for one connection, and the command that it started.
func (s *Toolset) transport() (mcp.Transport, *process, error) {
	if s.cfg.URL != "" {
		return &mcp.StreamableClientTransport{
			Endpoint: s.cfg.URL, HTTPClient: s.httpClient(), MaxEventSize: s.cfg.Limits.Message, MaxRetries: 2,
		}, nil, nil
	}
	p, err := startProcess(&s.cfg, s.redact)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.IOTransport{Reader: processReader{p}, Writer: processWriter{p}, MaxLineLength: s.cfg.Limits.Message}, p, nil
}

func (s *Toolset) sessionOptions() *mcp.ClientSessionOptions {
	return &mcp.ClientSessionOptions{ProtocolVersion: s.cfg.Protocol}
}

// client returns a client of the SDK for one connection.
func (s *Toolset) client() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "segue", Version: "v0"}, &mcp.ClientOptions{
		Logger:         s.cfg.Logger,
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			s.links.listChanged()
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.links.calls.progress(r.Params)
		},
	})
}

// httpClient returns the client for the requests to Config.URL.
func (s *Toolset) httpClient() *http.Client {
	client := new(http.Client)
	if s.cfg.HTTPClient != nil {
		*client = *s.cfg.HTTPClient
	}
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	u, err := url.Parse(s.cfg.URL)
	if err != nil { // withDefaults has parsed it
		return client
	}
	client.Transport = &headers{next: next, scheme: u.Scheme, host: u.Host, set: s.cfg.Headers}
	return client
}

// headers adds headers to the requests to one host.
type headers struct {
	next         http.RoundTripper
	scheme, host string
	set          map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == h.host && r.URL.Scheme == h.scheme { // not after a redirect to somebody else
		r = r.Clone(r.Context())
		for name, value := range h.set {
			r.Header.Set(name, value)
		}
	}
	return h.next.RoundTrip(r)
}
