package sse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// access is what a Handler lets the runs of one request be.
type access struct {
	owner     string // "": there is no Config.Owner
	authorize func(r *http.Request, run string) error
}

// accessKey is the key of the access in the context of a request.
type accessKey struct{}

// accessOf returns the access of a request. One that came through no Handler has no rule.
func accessOf(r *http.Request) access {
	a, _ := r.Context().Value(accessKey{}).(access)
	return a
}

// withAccess asks who makes a request, and returns the request with what it may name.
func (h *Handler) withAccess(r *http.Request) (*http.Request, error) {
	a := access{authorize: h.cfg.Authorize}
	if h.cfg.Owner != nil {
		owner, err := h.cfg.Owner(r)
		if err != nil {
			return r, denied("", err)
		}
		if !isOwner(owner) {
			return r, fmt.Errorf("sse: Config.Owner returned %.64q: an owner is printable text without a slash", owner)
		}
		a.owner = owner
	}
	return r.WithContext(context.WithValue(r.Context(), accessKey{}, a)), nil
}

// Authorized returns nil if a request may name a run: begin one of that id, go on with it, or see
// it. [Tasks] and [Replies] ask it. A [Start] of one's own that takes an id from a request asks it
// before it reads or stores anything of the run, and returns its error as it is.
//
// [Config].Owner and [Config].Authorize are the rules. For a request that no Handler gave to the
// Start there are none, and no run may be named.
func Authorized(r *http.Request, run string) error {
	a := accessOf(r)
	if a.owner == "" && a.authorize == nil {
		return denied(run, errors.New("Config has neither Owner nor Authorize, so that clients name no runs"))
	}
	if !a.nameable(run) {
		return denied(run, errors.New("the id is not one that the request may name"))
	}
	if a.authorize == nil {
		return nil
	}
	if err := a.authorize(r, run); err != nil {
		return denied(run, err)
	}
	return nil
}

// mostID bounds the length of an id that a client names.
const mostID = 256

// nameable reports whether a request may name a run for all that its id says. The ids of an owner
// begin with the owner and a colon, and hold no other colon behind it; so no id is that of two
// owners. Nor do they hold a slash: an id stands in paths, and in the keys of calls.
func (a access) nameable(run string) bool {
	name, within := run, true
	if a.owner != "" {
		name, within = strings.CutPrefix(run, a.owner+":")
		within = within && !strings.Contains(name, ":")
	}
	return within && name != "" && len(run) <= mostID && isPlain(run)
}

// newID returns the id of a run that the client left unnamed; "" leaves that to the Orchestrator.
func (a access) newID() string {
	if a.owner == "" {
		return ""
	}
	return a.owner + ":" + rand.Text()
}

// isOwner reports whether a text can be that of an owner.
func isOwner(s string) bool { return s != "" && len(s) < mostID-len(rand.Text()) && isPlain(s) }

// isPlain reports whether a text is printable and has no slash.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) })
}

// denied is the answer to a request that may not name a run. An [*Error] of a rule is shown as it
// is.
func denied(run string, cause error) error {
	if e, ok := errors.AsType[*Error](cause); ok {
		return e
	}
	return noRun(fmt.Errorf("run %.64q is refused: %w", run, cause))
}

// noRun is the one answer about a run that cannot be had, for whatever reason: it does not say
// whether there is such a run.
func noRun(cause error) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeRun, Message: "the run cannot be begun or gone on with", Err: cause}
}
