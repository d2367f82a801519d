package llmclient

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Router is a Client that passes each request, unchanged, to the client whose key is Request.Model,
// or else to the one whose key is "". A model without a client, or with a nil client, is an
// [*Error] with [CodeNotFound] that lists the known models. The map must not change while it is in
// use.
type Router map[string]Client

// Complete asks the client for req.Model.
func (r Router) Complete(ctx context.Context, req *Request, onDelta func(Delta)) (*Response, error) {
	c, ok := r[req.Model]
	if !ok {
		c, ok = r[""]
	}
	if !ok {
		return nil, r.notFound(req.Model, "is not known")
	}
	if c == nil {
		return nil, r.notFound(req.Model, "has a nil client")
	}
	return ask(ctx, c, req, onDelta)
}

func (r Router) notFound(model, why string) *Error {
	var known []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if r[name] != nil && name != "" {
			known = append(known, fmt.Sprintf("%q", name))
		}
	}
	list := "none"
	if len(known) > 0 {
		list = strings.Join(known, ", ")
	}
	return &Error{Code: CodeNotFound, Model: model, Message: fmt.Sprintf("model %q %s; known models: %s", model, why, list)}
}
