package sse

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/segue-go/segue/orchestrator"
)

// Defaults of a [Config].
const (
	DefaultMaxBody      = 1 << 20
	DefaultKeepAlive    = 15 * time.Second
	DefaultReadTimeout  = 30 * time.Second
	DefaultWriteTimeout = 30 * time.Second
)

// Start makes the events of a run for a request, such as those of
// [orchestrator.Orchestrator.Stream], or says why there are none: a [*Error] is shown to the client
// as it is; see there for others. Events that begin with an error and no event are refused like an
// error.
//
// The context of the request ends when the client goes away, and with it a run that has it. A run
// with another context, such as [context.WithoutCancel] of it, goes on to its end without the
// client. The events are ranged over on the goroutine of the request, once and to their end.
type Start func(r *http.Request) (iter.Seq2[orchestrator.Event, error], error)

// Config says what a [Handler] serves. Start is required, unless there is Follow.
type Config struct {
	Start   Start
	Methods []string // what Start is for; nil: POST. GET brings HEAD with it, which starts nothing

	// Follow has GET requests follow a run that there is, by [orchestrator.Orchestrator.Follow]:
	// that which the wildcard {run} of the pattern names, or the parameter run of the query. It is
	// told from the beginning, or from behind the Last-Event-ID of the request, which a browser's
	// EventSource sends when it asks again. Any number of clients may follow a run; none of them
	// starts, stops or slows one. Owner or Authorize say who may: with neither, nobody. A client
	// that has had all of a run that has ended is answered 204 (No Content). Nil follows none.
	Follow *orchestrator.Orchestrator

	// Detached has the runs of Start go on when their client goes away, as long as the process
	// does: the context that Start is given does not end with the request. Whoever comes back
	// follows the run. It needs Follow.
	Detached bool

	MaxBody int64 // bytes of a request's body; 0: 1 MiB; negative: no bound

	// Owner returns whose the runs of a request are, such as the user or the tenant that a handler
	// around this one has found out. The ids of the runs of an owner begin with the owner and a
	// colon: a client names no others, and a run that is left unnamed gets such an id. An owner is
	// printable text without a slash. An error refuses the request before its body is read.
	Owner func(r *http.Request) (string, error)

	// Authorize says whether a request may name a run: begin one of that id, go on with it, or see
	// how it has ended. It is asked before anything of the run is read or stored, and only about
	// ids that Owner leaves over. An error refuses the request: the client is not told the error,
	// unless it is an [*Error], which is shown as it is. Nil leaves the decision to Owner.
	//
	// With neither Owner nor Authorize, clients name no runs: [Tasks] gives each run an id of its
	// own, and [Replies] refuses every request. Whoever knows an id could otherwise read the
	// conversation of a stranger, and answer for them.
	Authorize func(r *http.Request, run string) error

	ReadTimeout  time.Duration // for the client to send the body, whatever the server's own is; 0: 30 seconds; negative: the server's own
	KeepAlive    time.Duration // the longest silence, after which a comment is sent; 0: 15 seconds; negative: any
	WriteTimeout time.Duration // for the client to take an event, whatever the server's own is; 0: 30 seconds; negative: none

	// Filter says whether an event is sent; it may change it before, but nothing that it points to.
	// Nil sends all. What is not for the client's eyes (run_finished holds the whole conversation)
	// is left out here.
	Filter func(e *orchestrator.Event) bool

	// OnError is told what the client is not: why a run could not be started where that is the
	// server's fault, why a run that the client named was refused, and what broke off a stream
	// other than the client. It may be nil.
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
	cfg.MaxBody = withDefault(cfg.MaxBody, DefaultMaxBody)
	cfg.KeepAlive = withDefault(cfg.KeepAlive, DefaultKeepAlive)
	cfg.ReadTimeout = withDefault(cfg.ReadTimeout, DefaultReadTimeout)
	cfg.WriteTimeout = withDefault(cfg.WriteTimeout, DefaultWriteTimeout)
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
	default:
		return nil
	}
}

func withDefault[N int64 | time.Duration](n, otherwise N) N {
	if n == 0 {
		return otherwise
	}
	return n
}

// ServeHTTP starts a run, or follows one, and streams its events until it ends. A panic of Start or Filter ends the
// work on the run and goes on to the server.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limitReads(w, h.cfg.ReadTimeout)
	switch {
	case !slices.Contains(h.cfg.Methods, r.Method):
		w.Header().Set("Allow", h.allow)
		h.refuse(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: CodeMethod, Message: "the method is not one of " + h.allow})
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
	events, err := h.start(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	s := newStream(w, h.cfg.ReadTimeout, h.cfg.WriteTimeout)
	defer s.end()
	begun, gone := false, false
	for e, err := range events {
		if e.Kind == "" && err != nil { // no event, only an error
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
			leave() // and wait for the run to end, so that its journal says how
		}
	}
	if !begun {
		h.breakOff(s, r, errors.New("sse: the run has no events"))
	}
}

// start finds out who makes a request, and what run it is for.
func (h *Handler) start(r *http.Request) (iter.Seq2[orchestrator.Event, error], error) {
	r, err := h.withAccess(r)
	if err != nil {
		return nil, err
	}
	events, err := h.cfg.Start(r)
	if err == nil && events == nil {
		err = errors.New("sse: Config.Start returned neither events nor an error")
	}
	return events, err
}

// breakOff ends a stream that has no last event: with a refusal if it has not begun.
func (h *Handler) breakOff(s *stream, r *http.Request, err error) {
	if s.begun {
		h.report(r, err)
		return
	}
	h.refuse(s.w, r, err)
}

func (h *Handler) report(r *http.Request, err error) {
	if h.cfg.OnError != nil {
		h.cfg.OnError(r, err)
	}
}
