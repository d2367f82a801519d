package sse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// Tasks returns a [Start] that runs the task in the body of a request, which is JSON (Content-Type
// application/json) of at least one of goal, messages and data:
//
//	{
//	  "strategy": "solve",       // Task.Strategy
//	  "run": "…",                // Task.Run
//	  "session": "…",            // Task.Session, in place of a run
//	  "goal": "…",               // Task.Input.Goal
//	  "messages": {"v": 1, …},   // Task.Input.Messages, in the form of messages.History
//	  "data": …                  // Task.Input.Data
//	}
//
// An unknown field is an error. The limits are those of the Orchestrator. Only clients that
// [Config].Owner or [Config].Authorize allow may set "run" or "session"; the others omit them, and
// find the id in the events. A turn of a session whose last run is in progress is refused as in
// use.
func Tasks(o *orchestrator.Orchestrator) Start {
	return func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
		var body struct {
			Strategy string           `json:"strategy"`
			Run      string           `json:"run"`
			Session  string           `json:"session"`
			Goal     string           `json:"goal"`
			Messages messages.History `json:"messages"`
			Data     json.RawMessage  `json:"data"`
		}
		if err := decode(r, &body); err != nil {
			return nil, err
		}
		in := delegation.Input{Goal: body.Goal, Messages: body.Messages, Data: body.Data}
		if in.Goal == "" && len(in.Messages) == 0 && len(in.Data) == 0 {
			return nil, bad("there is nothing to do: the body has neither goal nor messages nor data", nil)
		}
		var err error
		switch {
		case body.Session != "" && body.Run != "":
			err = bad("the body has a run and a session: the session says the id of the run", nil)
		case body.Session != "":
			err = authorizedSession(r, body.Session)
		case body.Run != "":
			err = Authorized(r, body.Run)
		default:
			body.Run = accessOf(r).newID()
		}
		if err != nil {
			return nil, err
		}
		task := orchestrator.Task{Strategy: body.Strategy, Run: body.Run, Session: body.Session, Namespace: Namespace(r), Input: in}
		return o.Stream(r.Context(), task), nil
	}
}

// Replies returns a [Start] that resumes a waiting run, like [orchestrator.Orchestrator.Resume].
// The body of the request is JSON (Content-Type application/json):
//
//	{"run": "…", "replies": [{"wait_id": "…", "approve": true}]}
//
// With "approve", "arguments" holds the JSON text of other arguments for the call.
//
// An unknown field is an error. [Config].Owner or [Config].Authorize say which runs a client may
// resume; with neither, none. A client that may resume a run can see its whole conversation and
// answer each wait.
func Replies(o *orchestrator.Orchestrator) Start {
	return func(r *http.Request) (iter.Seq2[machine.Event, error], error) {
		var body struct {
			Run     string          `json:"run"`
			Replies []machine.Reply `json:"replies"`
		}
		if err := decode(r, &body); err != nil {
			return nil, err
		}
		if body.Run == "" {
			return nil, bad("the body has no run", nil)
		}
		if err := Authorized(r, body.Run); err != nil {
			return nil, err
		}
		return o.Resume(r.Context(), orchestrator.Resumption{Run: body.Run, Namespace: Namespace(r), Replies: body.Replies}), nil
	}
}

// Replies returns a handler like h, for a route of its own, whose Start is [Replies].
func (h *Handler) Replies(o *orchestrator.Orchestrator) http.Handler {
	other := *h
	other.cfg.Start, other.cfg.Methods, other.allow = Replies(o), posts, http.MethodPost
	return &other
}

// decode decodes the whole body of a request.
func decode(r *http.Request, v any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &Error{Status: http.StatusUnsupportedMediaType, Code: codeMediaType, Message: "the Content-Type is not application/json"}
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return unreadable(err)
	}
	switch _, err := d.Token(); {
	case err == nil:
		return bad("the body holds more than one JSON object", nil)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return unreadable(err)
	}
}

// unreadable says what is wrong with a body.
func unreadable(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return bad("the body is not a JSON object", err)
		}
		return bad(fmt.Sprintf("the field %q of the body cannot be a %s", e.Field, e.Value), err)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return bad(fmt.Sprintf("the body is not JSON at byte %d", e.Offset), err)
	}
	switch {
	case errors.Is(err, io.EOF):
		return bad("the body is empty", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad("the body is not JSON: it ends too early", err)
	default:
		return bad("the body cannot be read: "+strings.TrimPrefix(err.Error(), "json: "), err)
	}
}

func bad(message string, cause error) *Error {
	return &Error{Status: http.StatusBadRequest, Code: codeBadRequest, Message: message, Err: cause}
}
