package sse

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Guard returns a handler for a route of your own, under the rules of the Handler: in serve,
// [Authorized] and [Namespace] say what they say in a [Start], pages of Origins are let in, and
// MaxBody bounds the body. An error of serve refuses the request as [Error] says; return it before
// you write anything.
func (h *Handler) Guard(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return h.route(nil, "the request failed", serve)
}

// route returns the handler of a route with these methods; nil: with any. failed is what a client
// gets to know of an error that is not its own.
func (h *Handler) route(methods []string, failed string, serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allow := strings.Join(methods, ", ")
		if methods == nil {
			allow = r.Header.Get("Access-Control-Request-Method")
		}
		if h.cors(w, r, allow) {
			return
		}
		if methods != nil {
			limitReads(w, h.cfg.ReadTimeout)
		}
		if methods != nil && !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", allow)
			h.refuse(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: codeMethod, Message: "the method is not one of " + allow}, failed)
			return
		}
		if h.cfg.MaxBody > 0 {
			r.Body = http.MaxBytesReader(w, r.Body, h.cfg.MaxBody)
		}
		r, err := h.withAccess(r)
		if err == nil {
			err = serve(w, r)
		}
		if err != nil {
			h.refuse(w, r, err, failed)
		}
	})
}

// The methods of routes.
var (
	gets  = []string{http.MethodGet, http.MethodHead}
	posts = []string{http.MethodPost}
)

// send answers a request with a status and JSON.
func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // ignore the error: the client has disconnected
}

// accepted answers a request whose effect the events of a run tell.
func accepted(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusAccepted)
}
