package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport returns a transport for one connection, and the command that it started.
func (s *Toolset) transport() (mcp.Transport, *process, error) {
	if s.cfg.URL != "" {
		return &mcp.StreamableClientTransport{
			Endpoint: s.cfg.URL, HTTPClient: s.http, MaxEventSize: mended * s.cfg.Limits.Message, MaxRetries: 2,
		}, nil, nil
	}
	p, err := startProcess(&s.cfg, s.redact)
	if err != nil {
		return nil, nil, err
	}
	lines := newLineReader(io.NopCloser(p), s.cfg.Limits.Message, func(line []byte) []byte { return s.message(p, line) })
	return &mcp.IOTransport{Reader: lines, Writer: processWriter{p}, MaxLineLength: mended * s.cfg.Limits.Message}, p, nil
}

// message returns a line of the standard output of a command as the SDK can read it. A line that is
// no message is logged, and kept with what the command writes to its standard error. One that
// begins like a message and is broken is one: the SDK says what is wrong with it.
func (s *Toolset) message(p *process, line []byte) []byte {
	var list []json.RawMessage
	if json.Unmarshal(line, &list) != nil {
		list = []json.RawMessage{line}
	}
	wrong := func(one json.RawMessage) bool {
		_, err := jsonrpc.DecodeMessage(one)
		return err != nil && !bytes.HasPrefix(one, []byte(`{"jsonrpc"`))
	}
	if len(list) > 0 && !slices.ContainsFunc(list, wrong) {
		return mend(line)
	}
	if text := strings.TrimSpace(string(line)); text != "" {
		_, _ = io.WriteString(p.stderr, text+"\n") // never fails
		s.cfg.Logger.Warn("an MCP server wrote a line that is no message", slog.String("server", s.cfg.Name), slog.String("line", clean(s.redact.text(text), 500)))
	}
	return nil
}

// client returns a client of the SDK for one connection.
func (s *Toolset) client(l *link) *mcp.Client {
	elicitation := &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	made := mcp.NewClient(&mcp.Implementation{Name: "segue", Version: "v0"}, &mcp.ClientOptions{
		Logger:             s.cfg.Logger,
		Capabilities:       &mcp.ClientCapabilities{Elicitation: elicitation},
		ElicitationHandler: s.elicit,
		MultiRoundTrip:     &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case l.changed <- struct{}{}:
			default: // it will be listed anyway
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.links.calls.progress(r.Params)
		},
	})
	made.AddSendingMiddleware(sendEmptyCursor)
	return made
}

// newHTTPClient returns the client for the requests to Config.URL, and how to close its idle
// connections. The last reply is noted in last.
func newHTTPClient(cfg *Config, last *lastReply) (client *http.Client, closeIdle func()) {
	client, closeIdle = new(http.Client), func() {}
	if cfg.HTTPClient != nil {
		*client = *cfg.HTTPClient
	}
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
		if standard, ok := next.(*http.Transport); ok {
			own := standard.Clone()
			next, closeIdle = own, own.CloseIdleConnections
		}
	}
	bounded := &roundTripper{next: next, headers: cfg.Headers, most: int64(cfg.Limits.Message), last: last}
	if u, err := url.Parse(cfg.URL); err == nil { // withDefaults has checked it
		bounded.scheme, bounded.host = u.Scheme, u.Host
	}
	client.Transport = bounded
	return client, closeIdle
}

// roundTripper adds headers to the requests to one host, and bounds the replies.
type roundTripper struct {
	next         http.RoundTripper
	scheme, host string
	headers      map[string]string
	most         int64
	last         *lastReply
}

// RoundTrip implements [http.RoundTripper].
func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == t.host && r.URL.Scheme == t.scheme { // not after a redirect to somebody else
		r = r.Clone(r.Context())
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	t.last.note(r, res)
	mediaType := res.Header.Get("Content-Type")
	if strings.HasPrefix(mediaType, "text/event-stream") { // each event has its own limit
		res.Body = newLineReader(res.Body, int(t.most), mendEvent)
		return res, nil
	}
	body := io.LimitReader(res.Body, t.most+1)
	if strings.HasPrefix(mediaType, "application/json") {
		data, err := io.ReadAll(body)
		if int64(len(data)) > t.most {
			err = fmt.Errorf("mcptools: the reply has more than %d bytes", t.most)
		}
		if err != nil {
			_ = res.Body.Close()
			return nil, err
		}
		body = bytes.NewReader(mend(data))
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{body, res.Body}
	return res, nil
}
