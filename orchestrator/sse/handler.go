package sse

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// Defaults of a [Config].
const (
	defaultMaxBody      = 1 << 20
	defaultKeepAlive    = 15 * time.Second
	defaultReadTimeout  = 30 * time.Second
	defaultWriteTimeout = 30 * time.Second
)

// Start returns the events of a run for a request, such as the result of
// [orchestrator.Orchestrator.Stream], or an error. A [*Error] is sent to the client unchanged; see
// there for other errors. If the events begin with an error instead of an event, the request is
// refused with that error.
//
// The context of the request ends when the client disconnects; a run with that context is stopped
// then. A run with another context, such as [context.WithoutCancel] of it, continues to its end
// without the client. The events are read on the goroutine of the request, once and to their end.
type Start func(r *http.Request) (iter.Seq2[machine.Event, error], error)

// Config configures a [Handler]. Start or Follow is required.
type Config struct {
	Start   Start
	Methods []string // methods that call Start; nil: POST. GET includes HEAD, which starts no run
	MaxBody int64    // maximum size of a request's body in bytes; 0: 1 MiB; negative: no maximum

	// Follow makes GET requests follow an existing run, by [orchestrator.Orchestrator.Follow]. The
	// wildcard {run} of the pattern names the run, or else the query parameter run. The stream
	// begins with the first event of the run, or after the event that the header Last-Event-ID
	// names, which a browser's EventSource sends when it reconnects, or else the query parameter
	// after. Any number of clients may
	// follow a run; they never start, stop or slow it. Owner or Authorize decide who may follow:
	// with neither, nobody. A client that has all events of a run that has ended gets the status
	// 204 (No Content). Nil: no run can be followed.
	Follow *orchestrator.Orchestrator

	// Detached makes the runs of Start continue when their client disconnects, as long as the
	// process lives: the context that Start gets does not end with the request. A client that
	// reconnects follows the run. Detached requires Follow.
	Detached bool

	// Namespace returns the namespace of the runs of a request, such as the tenant that an outer
	// handler has authenticated: runs are begun, resumed and followed in it only, and the same id
	// in two namespaces is two runs. It is a text as in [checkpoint.Key], and not empty. It does
	// not say which runs of the namespace a client may name: Owner and Authorize do. An error
	// refuses the request before its body is read; see Authorize for what the client sees of it.
	// Nil: all runs are in the namespace "".
	Namespace func(r *http.Request) (string, error)

	// Owner returns the owner of the runs of a request, such as the user or tenant that an outer
	// handler has authenticated. The ids of an owner's runs, and the names of its sessions, begin
	// with the owner and a colon: a client may name no others, and a run without an id gets such an
	// id. An owner is printable
	// text without a slash. An error refuses the request before its body is read.
	Owner func(r *http.Request) (string, error)

	// Authorize returns nil if a request may name a run: start a run with that id, resume it, or
	// see how it ended. It is asked about the name of a session as well. It is called before
	// anything of the run is read or stored, and only for ids that Owner allows. An error refuses
	// the request; the client does not see the error, unless it is an [*Error], which is sent
	// unchanged. If Authorize is nil, only Owner decides.
	//
	// With neither Owner nor Authorize, clients may name no runs: [Tasks] gives each run a new id,
	// and [Replies] refuses every request. Otherwise anybody who knows an id could read somebody
	// else's conversation, and answer for them.
	Authorize func(r *http.Request, run string) error

	// Origins are the origins, such as "https://app.example.com", whose pages may use the handler
	// from another site (CORS); "*" is any. Preflight requests are answered, so route OPTIONS to
	// the handler, too: with a pattern without a method. Nil: no page of another origin.
	Origins     []string
	Credentials bool // pages of Origins may send cookies; "*" is refused then

	ReadTimeout  time.Duration // time for the client to send the body; overrides the server's; 0: 30 seconds; negative: the server's
	KeepAlive    time.Duration // a comment is sent after this time without an event; 0: 15 seconds; negative: never
	WriteTimeout time.Duration // time for the client to receive an event; overrides the server's; 0: 30 seconds; negative: none

	// Filter reports whether an event is sent. It may change the event, but nothing that the event
	// points to. Nil sends all events. Use it to remove data that the client must not see:
	// run_finished holds the whole conversation, and step_snapshot texts and thoughts.
	Filter func(e *machine.Event) bool

	// OnError gets errors that the client does not see: why the server could not start a run, why a
	// run that the client named was refused, and why a stream broke off although the client was
	// connected. It may be nil.
	OnError func(r *http.Request, err error)
}

// Handler streams runs. It is safe for concurrent use; each request is a run of its own.
type Handler struct {
	cfg   Config
	allow string
}

// New checks the configuration and returns a Handler.
func New(cfg Config) (*Handler, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Methods == nil && cfg.Start != nil {
		cfg.Methods = []string{http.MethodPost}
	}
	if cfg.Follow != nil {
		cfg.Methods = append(slices.Clip(cfg.Methods), http.MethodGet)
	}
	if slices.Contains(cfg.Methods, http.MethodGet) && !slices.Contains(cfg.Methods, http.MethodHead) {
		cfg.Methods = append(slices.Clip(cfg.Methods), http.MethodHead)
	}
	cfg.MaxBody = withDefault(cfg.MaxBody, defaultMaxBody)
	cfg.KeepAlive = withDefault(cfg.KeepAlive, defaultKeepAlive)
	cfg.ReadTimeout = withDefault(cfg.ReadTimeout, defaultReadTimeout)
	cfg.WriteTimeout = withDefault(cfg.WriteTimeout, defaultWriteTimeout)
	return &Handler{cfg: cfg, allow: strings.Join(cfg.Methods, ", ")}, nil
}

// check says what cannot be served.
func (c *Config) check() error {
	switch {
	case c.Start == nil && c.Follow == nil:
		return errors.New("sse: Config.Start is nil: there is nothing to stream")
	case c.Detached && c.Follow == nil:
		return errors.New("sse: Config.Detached needs Config.Follow: nobody could hear of a run again whose client is gone")
	case c.Follow != nil && slices.Contains(c.Methods, http.MethodGet):
		return errors.New("sse: Config.Methods has GET, which Config.Follow is for")
	case c.Credentials && (len(c.Origins) == 0 || slices.Contains(c.Origins, "*")):
		return errors.New("sse: Config.Credentials needs Config.Origins that name the sites: each of them acts for the user")
	}
	for _, o := range c.Origins {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Host == "" || o != u.Scheme+"://"+strings.ToLower(u.Host)) {
			return fmt.Errorf("sse: Config.Origins has %.64q, which is no origin: it is \"*\", or as \"https://app.example.com\"", o)
		}
	}
	return nil
}

func withDefault[N int64 | time.Duration](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return n
}

// ServeHTTP starts a run or follows one, and streams its events until it ends. If Start or Filter
// panics, the work on the run ends and the panic reaches the server.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.cors(w, r, h.allow) {
		return
	}
	limitReads(w, h.cfg.ReadTimeout)
	switch {
	case !slices.Contains(h.cfg.Methods, r.Method):
		w.Header().Set("Allow", h.allow)
		h.refuse(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: codeMethod, Message: "the method is not one of " + h.allow}, h.failed(r))
	case r.Method == http.MethodHead:
		setHeaders(w.Header())
	case h.cfg.Follow != nil && r.Method == http.MethodGet:
		h.follow(w, r)
	case r.Header.Get("Last-Event-ID") != "":
		w.WriteHeader(http.StatusNoContent)
	default:
		h.run(w, r)
	}
}

// cors tells the browser whether a page of another origin may use the handler. It returns true if
// the request only asked that.
func (h *Handler) cors(w http.ResponseWriter, r *http.Request, methods string) bool {
	origin, header := r.Header.Get("Origin"), w.Header()
	if len(h.cfg.Origins) == 0 {
		return false
	}
	header.Add("Vary", "Origin")
	if origin == "" || !slices.Contains(h.cfg.Origins, "*") && !slices.Contains(h.cfg.Origins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	if h.cfg.Credentials {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	w.WriteHeader(http.StatusNoContent)
	return true
}

// run streams one run.
func (h *Handler) run(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	leave := cancel // the run, when its client is gone
	if h.cfg.Detached {
		ctx, leave = context.WithoutCancel(ctx), func() {}
	}
	r = r.WithContext(ctx)
	if h.cfg.MaxBody > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, h.cfg.MaxBody)
	}
	r, events, err := h.start(r)
	if err != nil {
		h.refuse(w, r, err, h.failed(r))
		return
	}
	s := newStream(w, h.cfg.ReadTimeout, h.cfg.WriteTimeout)
	defer s.end()
	begun, gone := false, false
	for e, err := range events {
		if e.Kind == "" && err != nil { // an error without an event
			h.breakOff(s, r, err)
			return
		}
		if !begun {
			begun = true
			if err := s.begin(h.cfg.KeepAlive, leave); err != nil {
				h.breakOff(s, r, err)
				return
			}
		}
		s.stands(&e)
		if gone || h.cfg.Filter != nil && !h.cfg.Filter(&e) {
			continue
		}
		block, err := s.encode(e)
		if err != nil {
			h.breakOff(s, r, err)
			return
		}
		if s.send(block) != nil {
			gone = true
			leave() // then wait for the run to end, so that its journal is complete
		}
	}
	if !begun {
		h.breakOff(s, r, errors.New("sse: the run has no events"))
	}
}

// start determines the access of a request, and starts its run. It returns the request with its
// access.
func (h *Handler) start(r *http.Request) (*http.Request, iter.Seq2[machine.Event, error], error) {
	r, err := h.withAccess(r)
	if err != nil {
		return r, nil, err
	}
	events, err := h.cfg.Start(r)
	if err == nil && events == nil {
		err = errors.New("sse: Config.Start returned neither events nor an error")
	}
	return r, events, err
}

// failed is what a client gets to know of an error that is not its own.
func (h *Handler) failed(r *http.Request) string {
	if h.cfg.Follow != nil && r.Method == http.MethodGet {
		return "the run could not be read"
	}
	return "the run could not be started or resumed"
}

// breakOff ends a stream that has no last event: with a refusal if it has not begun.
func (h *Handler) breakOff(s *stream, r *http.Request, err error) {
	if s.begun {
		h.report(r, err)
		return
	}
	h.refuse(s.w, r, err, h.failed(r))
}

func (h *Handler) report(r *http.Request, err error) {
	if h.cfg.OnError != nil {
		h.cfg.OnError(r, err)
	}
}
