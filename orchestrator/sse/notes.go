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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.cors(w, r, http.MethodPost) {
			return
		}
		limitReads(w, h.cfg.ReadTimeout)
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			h.refuse(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: codeMethod, Message: "the method is not " + http.MethodPost})
			return
		}
		if h.cfg.MaxBody > 0 {
			r.Body = http.MaxBytesReader(w, r.Body, h.cfg.MaxBody)
		}
		if err := h.note(o, r); err != nil {
			h.refuse(w, r, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusAccepted)
	})
}

// note makes the note of a request.
func (h *Handler) note(o *orchestrator.Orchestrator, r *http.Request) error {
	r, err := h.withAccess(r)
	if err != nil {
		return err
	}
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
	if err := Authorized(r, body.Run); err != nil {
		return err
	}
	return o.Note(r.Context(), checkpoint.Key{Namespace: Namespace(r), Run: body.Run}, body.Text)
}
