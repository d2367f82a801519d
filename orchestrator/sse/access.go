package sse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/segue-go/segue/checkpoint"
)

// access says which runs a request may name.
type access struct {
	namespace string // of its runs; "" without Config.Namespace
	owner     string // "": there is no Config.Owner
	authorize func(r *http.Request, run string) error
	may       string // the run that the request may name, and has named; "": none so far
}

// accessKey is the key of the access in the context of a request.
type accessKey struct{}

// accessOf returns the access of a request. A request that did not pass through a Handler has no
// rule.
func accessOf(r *http.Request) *access {
	if a, ok := r.Context().Value(accessKey{}).(*access); ok {
		return a
	}
	return new(access)
}

// withAccess calls Config.Namespace and Owner, and returns the request with its access.
func (h *Handler) withAccess(r *http.Request) (*http.Request, error) {
	a := &access{authorize: h.cfg.Authorize}
	if h.cfg.Namespace != nil {
		namespace, err := h.cfg.Namespace(r)
		if err != nil {
			return r, denied("", err)
		}
		if err := checkNamespace(namespace); err != nil {
			return r, err
		}
		a.namespace = namespace
	}
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

// checkNamespace returns an error if a text cannot be the namespace of a request. An empty one is
// refused: a request of nobody is not one of everybody.
func checkNamespace(namespace string) error {
	if namespace == "" {
		return errors.New("sse: Config.Namespace returned an empty text")
	}
	if err := (checkpoint.Key{Namespace: namespace, Run: "r"}).Check(); err != nil {
		return errors.New("sse: Config.Namespace returned what no store holds: " + err.Error()) // no fault of the client's id
	}
	return nil
}

// Namespace returns the namespace of the runs of a request, which [Config].Namespace has said; ""
// without one. [Tasks] and [Replies] use it. Your own [Start] sets [orchestrator.Task].Namespace or
// [orchestrator.Resumption].Namespace to it.
func Namespace(r *http.Request) string { return accessOf(r).namespace }

// Authorized returns nil if a request may name a run: start a run with that id, resume it, or read
// it. [Tasks] and [Replies] call it. If your own [Start] takes an id from a request, call
// Authorized before you read or store anything of the run, and return its error unchanged.
//
// [Config].Owner and [Config].Authorize are the rules. A request that did not come through a
// Handler, or its [Handler.Guard], has no rules, and may name no run.
func Authorized(r *http.Request, run string) error {
	a := accessOf(r)
	if a.owner == "" && a.authorize == nil {
		return denied(run, errors.New("Config has neither Owner nor Authorize, so that clients name no runs"))
	}
	if !a.nameable(run) {
		return denied(run, errors.New("the id is not one that the request may name"))
	}
	if a.authorize != nil {
		if err := a.authorize(r, run); err != nil {
			return denied(run, err)
		}
	}
	a.may = run
	return nil
}

// mostID is the maximum length of an id that a client names.
const mostID = 256

// nameable reports whether the form of an id allows a request to name the run. The ids of an owner
// begin with the owner and a colon, followed by text without a colon, so no id belongs to two
// owners. An id holds no slash, because ids are used in paths and in the keys of calls.
func (a *access) nameable(run string) bool {
	name, within := run, true
	if a.owner != "" {
		name, within = strings.CutPrefix(run, a.owner+":")
		within = within && !strings.Contains(name, ":")
	}
	return within && name != "" && len(run) <= mostID && isPlain(run)
}

// newID returns an id for a run without one; "" means that the Orchestrator makes the id.
func (a *access) newID() string {
	if a.owner == "" {
		return ""
	}
	return a.owner + ":" + rand.Text()
}

// isOwner reports whether a text is a valid owner.
func isOwner(s string) bool { return s != "" && len(s) < mostSession-len(rand.Text()) && isPlain(s) }

// isPlain reports whether a text is printable and has no slash.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) })
}

// denied returns the error for a request that may not name a run. An [*Error] of a rule is returned
// unchanged.
func denied(run string, cause error) error {
	if e, ok := errors.AsType[*Error](cause); ok {
		return e
	}
	return noRun(fmt.Errorf("run %.64q is refused: %w", run, cause))
}

// noRun returns the error for every run that is not available, except for one's own that is in use.
// It is the same for every reason, so that it does not reveal whether the run exists.
func noRun(cause error) *Error {
	return &Error{Status: http.StatusForbidden, Code: codeRun, Message: "there is no such run or session for you", Err: cause}
}
