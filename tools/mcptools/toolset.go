package mcptools

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/segue-go/segue/tools"
)

// Toolset holds the tools of one server. It is safe for concurrent use.
type Toolset struct {
	cfg    Config
	redact *redactor
	ctx    context.Context // ends with the Toolset
	end    context.CancelFunc
	http   *http.Client // for a URL
	idle   func()       // closes its idle connections
	last   lastReply    // of that URL
	links  links

	reading sync.Mutex // held while the tools are listed, so that an older list does not replace a newer one
	mu      sync.Mutex
	listing Listing
	tools   []tools.Tool
}

// Connect connects to a server and lists its tools. The Toolset lives until it is closed or ctx
// ends: a time-out for connecting is Config.ConnectTimeout, not one of ctx. An error is a
// [*ServerError], or says what is wrong with the Config.
func Connect(ctx context.Context, cfg Config) (*Toolset, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Toolset{cfg: cfg, redact: newRedactor(&cfg)}
	s.http, s.idle = newHTTPClient(&cfg, &s.last)
	s.ctx, s.end = context.WithCancel(ctx)
	s.links.set = s
	if _, err := s.links.get(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return s, nil
}

// Name returns the name of the server, as in the Config or by default.
func (s *Toolset) Name() string { return s.cfg.Name }

// Tools returns the tools as of now, for new runs. A server may change its list at any time: a run
// in progress keeps the tools that it was given, and a call of one that has gone fails. While a
// server is dead, these are the tools that it had: a call connects again.
func (s *Toolset) Tools() []tools.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools)
}

// Listing returns what the server offers as of now, with what was left out, and why.
func (s *Toolset) Listing() Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.listing
	l.Offers = slices.Clone(l.Offers)
	return l
}

// Fingerprints returns the fingerprints of the tools that are not left out, by the server's names,
// for [Pins].
func (s *Toolset) Fingerprints() map[string]string {
	prints := map[string]string{}
	for _, o := range s.Listing().Offers {
		if o.LeftOut == "" {
			prints[o.Name] = o.Fingerprint
		}
	}
	return prints
}

// Refresh lists the server's tools anew. That is done anyway when the server says that they have
// changed, and after a new connection.
func (s *Toolset) Refresh(ctx context.Context) error {
	l, err := s.links.get(ctx)
	if err != nil {
		return err
	}
	return s.list(ctx, l)
}

// Stderr returns the last bytes that the command wrote to its standard error, and the lines of its
// standard output that are no messages, without the secrets of the Config; "" without a command.
func (s *Toolset) Stderr() string { return s.links.stderr() }

// Close ends the connection, and the command with its children. It waits until they are gone, which
// takes up to twice Config.CloseTimeout. Calls in progress fail. The error is always nil.
func (s *Toolset) Close() error {
	s.end()
	s.links.close()
	s.idle()
	return nil
}
