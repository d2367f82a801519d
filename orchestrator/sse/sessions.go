package sse

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/machine"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
)

// mostSession is the maximum length of the name of a session that a client names: the ids of its
// runs are longer by a dot and the turn.
const mostSession = mostID - len(".9223372036854775807")

// authorizedSession is [Authorized] for the name of a session.
func authorizedSession(r *http.Request, name string) error {
	if len(name) > mostSession {
		return bad("the name of the session is too long", nil)
	}
	return Authorized(r, name)
}

// sessionForm is the JSON form of a session in a list.
type sessionForm struct {
	Session string            `json:"session"`
	Title   string            `json:"title,omitempty"` // in a list
	Turns   int               `json:"turns"`
	Run     string            `json:"run,omitempty"` // the last one
	Status  checkpoint.Status `json:"status,omitempty"`
	Created time.Time         `json:"created,omitzero"` // of the last run, like Updated
	Updated time.Time         `json:"updated,omitzero"`
}

func formOf(s *orchestrator.Session) sessionForm {
	return sessionForm{
		Session: s.Name, Turns: s.Turns, Run: s.Last.Key.Run, Status: s.Last.Header.Status,
		Created: s.Last.Created, Updated: s.Last.Updated,
	}
}

// Sessions returns a handler for the conversations of the client, which are those of
// [orchestrator.Task].Session. A turn is no part of it: a client posts {"session": "…", "goal":
// "…"} to the route of [Tasks].
//
//	http.Handle("GET /sessions", handler.Sessions(o))
//	http.Handle("POST /sessions", handler.Sessions(o))
//	http.Handle("GET /sessions/{session}", handler.Sessions(o))
//
// A POST returns a name for a new session, with the status 201 (Created). Nothing is stored before
// the first turn:
//
//	{"session": "ann:…"}
//
// A GET lists the sessions that the client may name, the one with the newest run first. With run
// and status of the last run:
//
//	{"sessions": [{"session": "…", "title": "…", "turns": 2, "run": "….2", "status": "done",
//	  "created": "…", "updated": "…"}], "next": "…"}
//
// With next there are more: for those after=next is sent. limit is how many come at a time, as in
// [checkpoint.Query]. The title is that of [orchestrator.Orchestrator.Title].
//
// A GET with the wildcard {session}, or the query parameter session, returns the conversation so
// far, in the form of [messages.History], and what the last run waits for, as [machine.Wait]:
//
//	{"session": "…", "turns": 2, "run": "….2", "status": "running", …,
//	 "strategy": "…", "messages": {"v": 1, …}, "waits": […], "position": "7/2147483647"}
//
// A client that follows the run with the query parameter after=position gets what happens after
// that. A session without runs has no turns and no messages.
//
// The name of a session obeys the rules of the id of a run: with Owner it begins with the owner and
// a colon, and Authorize is called with it. The runs of the session have its name with a dot and
// the turn behind it. [Config].Filter does not apply: a client that may name a session reads all of
// its conversation. A list looks at the head of every run in the namespace, so give users who share
// none a [Config].Namespace each. A damaged head is left out, and [Config].OnError gets the reason.
func (h *Handler) Sessions(o *orchestrator.Orchestrator) http.Handler {
	return h.route(append(gets, posts...), "the sessions could not be read", func(w http.ResponseWriter, r *http.Request) error {
		name := cmp.Or(r.PathValue("session"), r.URL.Query().Get("session"))
		switch {
		case r.Method == http.MethodPost:
			return newSession(w, r)
		case name != "":
			return conversation(o, w, r, name)
		default:
			return h.sessions(o, w, r)
		}
	})
}

func newSession(w http.ResponseWriter, r *http.Request) error {
	name := cmp.Or(accessOf(r).newID(), rand.Text())
	if err := authorizedSession(r, name); err != nil {
		return err
	}
	send(w, http.StatusCreated, sessionForm{Session: name})
	return nil
}

func (h *Handler) sessions(o *orchestrator.Orchestrator, w http.ResponseWriter, r *http.Request) error {
	q, err := pageOf(r)
	if err != nil {
		return err
	}
	page := struct {
		Sessions []sessionForm     `json:"sessions"`
		Next     checkpoint.Cursor `json:"next,omitzero"`
	}{Sessions: []sessionForm{}}
	last := q.After
	for s, err := range o.Sessions(r.Context(), q.Namespace) {
		at := checkpoint.Cursor{Created: s.Last.Created, Key: s.Last.Key}
		switch {
		case errors.Is(err, checkpoint.ErrCorrupt):
			h.report(r, err)
			continue
		case err != nil:
			return err
		case !q.After.IsZero() && !behind(at, q.After) || Authorized(r, s.Name) != nil:
			continue
		case len(page.Sessions) == q.Most():
			page.Next = last
			send(w, http.StatusOK, page)
			return nil
		}
		form := formOf(&s)
		if form.Title, err = o.Title(r.Context(), &s); err != nil {
			h.report(r, err)
		}
		page.Sessions, last = append(page.Sessions, form), at
	}
	send(w, http.StatusOK, page)
	return nil
}

// pageOf says which page of a list a request asks for.
func pageOf(r *http.Request) (q checkpoint.Query, err error) {
	q.Namespace = Namespace(r)
	if err := q.After.UnmarshalText([]byte(r.URL.Query().Get("after"))); err != nil {
		return q, bad("after is not that of a list", err)
	}
	if limit := r.URL.Query().Get("limit"); limit != "" {
		if q.Limit, err = strconv.Atoi(limit); err != nil {
			return q, bad("the limit is not a number", err)
		}
	}
	return q, nil
}

// behind reports whether a place in a list of sessions is behind another one.
func behind(at, other checkpoint.Cursor) bool {
	newer := at.Created.Compare(other.Created)
	return newer < 0 || newer == 0 && at.Key.Run > other.Key.Run
}

func conversation(o *orchestrator.Orchestrator, w http.ResponseWriter, r *http.Request, name string) error {
	if err := authorizedSession(r, name); err != nil {
		return err
	}
	c, err := o.Conversation(r.Context(), Namespace(r), name)
	if err != nil {
		return err
	}
	send(w, http.StatusOK, struct {
		sessionForm
		Strategy string                `json:"strategy,omitempty"` // which has answered
		Messages messages.History      `json:"messages"`
		Waits    []machine.Wait        `json:"waits,omitempty"`
		Position orchestrator.Position `json:"position"`
	}{formOf(&c.Session), c.Strategy, c.History, c.Waits, c.Position})
	return nil
}

// Waits returns a handler for the inbox of the client: what the runs wait for that it may name, as
// [orchestrator.Orchestrator.Waits] says. A client answers by the route of [Replies]. The answer to
// a GET is JSON, with the form of [machine.Wait]:
//
//	{"runs": [{"run": "…", "session": "…", "goal": "…", "updated": "…", "waits": [{"id": "…", …}]}]}
//
// A run that cannot be read is left out; [Config].OnError gets the reason. The rules are those of
// [Handler.Sessions]. All runs of the namespace that wait are read, so give users who share none a
// [Config].Namespace each.
func (h *Handler) Waits(o *orchestrator.Orchestrator) http.Handler {
	type form struct {
		Run     string         `json:"run"`
		Session string         `json:"session,omitempty"`
		Goal    string         `json:"goal,omitempty"`
		Updated time.Time      `json:"updated"` // since then it waits
		Waits   []machine.Wait `json:"waits"`
	}
	return h.route(gets, "what waits could not be read", func(w http.ResponseWriter, r *http.Request) error {
		list := []form{}
		for run, err := range o.Waits(r.Context(), checkpoint.Query{Namespace: Namespace(r)}) {
			head := &run.Head
			switch {
			case head.Key.Run != "" && Authorized(r, head.Key.Run) != nil:
			case err != nil && (head.Key.Run != "" || errors.Is(err, checkpoint.ErrCorrupt)):
				h.report(r, err)
			case err != nil:
				return err
			default:
				list = append(list, form{head.Key.Run, head.Header.Labels[orchestrator.LabelSession], run.Goal, head.Updated, run.Waits})
			}
		}
		send(w, http.StatusOK, map[string]any{"runs": list})
		return nil
	})
}
