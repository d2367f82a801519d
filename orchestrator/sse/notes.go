package sse

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/orchestrator"
)

// Notes returns a handler with which clients make notes for their runs, like
// [orchestrator.Orchestrator.Note]: put it on a route of its own. A request is a POST whose body is
// JSON (Content-Type application/json):
//
//	{"run": "…", "text": "As a table, please."}
//
// The answer has the status 202 (Accepted) and no body; the events of the run tell what becomes of
// the note. The rules are those of the Handler: Namespace, Owner and Authorize say which runs a
// client may name, and with neither of the last two none; MaxBody and ReadTimeout bound the
// request. Errors are as [Error] says; a run that has ended is a 409 with the code "reply". The
// store of the Orchestrator must be a [checkpoint.Inbox].
func (h *Handler) Notes(o *orchestrator.Orchestrator) http.Handler {
	return h.route(posts, "the run could not be told", func(w http.ResponseWriter, r *http.Request) error {
		var body struct {
			Run  string `json:"run"`
			Text string `json:"text"`
		}
		if err := decode(r, &body); err != nil {
			return err
		}
		switch {
		case body.Run == "":
			return bad("the body has no run", nil)
		case strings.TrimSpace(body.Text) == "":
			return bad("the body has no text", nil)
		case len(body.Text) > machine.MaxNote:
			return bad(fmt.Sprintf("the text has more than %d bytes", machine.MaxNote), nil)
		}
		err := Authorized(r, body.Run)
		if err == nil {
			err = o.Note(r.Context(), checkpoint.Key{Namespace: Namespace(r), Run: body.Run}, body.Text)
		}
		if err == nil {
			accepted(w)
		}
		return err
	})
}

// Stops returns a handler with which clients stop their runs, whichever process works on them, like
// [orchestrator.Orchestrator.Stop]. A request is a POST whose body is JSON (Content-Type
// application/json):
//
//	{"run": "…", "now": true, "reason": "…"}
//
// Without "now" the run stops after the step in progress. The answer has the status 202 (Accepted)
// and no body; the last event of the run tells when it has stopped. A run that has ended already is
// no error. The rules are those of [Handler.Notes].
func (h *Handler) Stops(o *orchestrator.Orchestrator) http.Handler {
	return h.route(posts, "the run could not be told", func(w http.ResponseWriter, r *http.Request) error {
		var body struct {
			Run    string `json:"run"`
			Now    bool   `json:"now"`
			Reason string `json:"reason"`
		}
		if err := decode(r, &body); err != nil {
			return err
		}
		switch {
		case body.Run == "":
			return bad("the body has no run", nil)
		case len(body.Reason) > machine.MaxNote:
			return bad(fmt.Sprintf("the reason has more than %d bytes", machine.MaxNote), nil)
		}
		err := Authorized(r, body.Run)
		if err == nil {
			err = o.Stop(r.Context(), checkpoint.Key{Namespace: Namespace(r), Run: body.Run}, body.Reason, body.Now)
		}
		if err == nil {
			accepted(w)
		}
		return err
	})
}
