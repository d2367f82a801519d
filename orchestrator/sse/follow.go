package sse

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// runOf returns the run that a request to follow names: by the wildcard {run} of its pattern, or by
// the query.
func runOf(r *http.Request) string {
	if run := r.PathValue("run"); run != "" {
		return run
	}
	return r.URL.Query().Get("run")
}

// positionOf reads the id of the event after which a stream is taken up: "7/2", or "7" for all of
// record 7.
func positionOf(id string) (p orchestrator.Position, err error) {
	if id == "" {
		return p, nil
	}
	if record, wrong := strconv.Atoi(id); wrong == nil && record >= 0 {
		const all = 1<<31 - 1
		return orchestrator.Position{Record: record, Index: all}, nil
	}
	return p, p.UnmarshalText([]byte(id))
}

// follow streams a run that there is, from where the client has left off.
func (h *Handler) follow(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	key, after, err := h.asked(r)
	if err != nil {
		h.refuse(w, r, err, h.failed(r))
		return
	}
	head, err := h.cfg.Follow.Head(ctx, key)
	if err != nil {
		h.refuse(w, r, err, h.failed(r))
		return
	}
	s := newStream(w, h.cfg.ReadTimeout, h.cfg.WriteTimeout)
	defer s.end()
	s.last = after
	if !head.Header.Status.Ended() { // it may have nothing to tell for long
		if err := s.begin(h.cfg.KeepAlive, cancel); err != nil {
			h.breakOff(s, r, err)
			return
		}
	}
	for e, err := range h.cfg.Follow.Follow(ctx, key, after) {
		if e.Kind == "" && ctx.Err() != nil { // the client is gone
			return
		}
		if e.Kind == "" {
			h.breakOff(s, r, err)
			return
		}
		if !h.pass(s, r, e, cancel) {
			return
		}
	}
	if !s.begun { // the client has it all: it is to stop asking
		w.WriteHeader(http.StatusNoContent)
	}
}

// asked says which run a request asks for, and from where.
func (h *Handler) asked(r *http.Request) (key checkpoint.Key, after orchestrator.Position, err error) {
	r, err = h.withAccess(r)
	if err != nil {
		return key, after, err
	}
	key.Namespace = Namespace(r)
	if key.Run = runOf(r); key.Run == "" {
		return key, after, bad("the request names no run", nil)
	}
	if err := Authorized(r, key.Run); err != nil {
		return key, after, err
	}
	if after, err = positionOf(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))); err != nil {
		return key, after, bad("the Last-Event-ID, or after, is not that of an event", err)
	}
	return key, after, nil
}

// pass sends an event of a run that is followed. It returns false if the stream is over.
func (h *Handler) pass(s *stream, r *http.Request, e machine.Event, gone func()) bool {
	if !s.begun {
		if err := s.begin(h.cfg.KeepAlive, gone); err != nil {
			h.breakOff(s, r, err)
			return false
		}
	}
	s.stands(&e)
	if h.cfg.Filter != nil && !h.cfg.Filter(&e) {
		return true
	}
	block, err := s.encode(e)
	if err != nil {
		h.breakOff(s, r, err)
		return false
	}
	return s.send(block) == nil
}
