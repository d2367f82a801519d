package tools

import (
	"context"
	"errors"
)

// Lookuper is a [Tool] that can find out what became of a call of its own. It is for tools that are
// neither ReadOnly nor Idempotent: where a process dies while such a call is made, nobody knows
// whether the call had its effect, and without a Lookup a person is asked.
type Lookuper interface {
	Tool

	// Lookup finds the call with that idempotency key, which was made with these arguments. If the
	// call had its effect, Lookup returns the result and true; if it certainly had none and will
	// have none, false: then the call is made. An error says that this cannot be known now. A call
	// may still be on its way when its process has died: a Lookup that cannot exclude it returns an
	// error.
	Lookup(ctx context.Context, key, arguments string) (result string, found bool, err error)
}

// WithLookup returns a tool that finds out by a function what became of its calls, as [Lookuper]
// says. The key is the one that [IdempotencyKey] gave the call.
func WithLookup(t Tool, lookup func(ctx context.Context, key, arguments string) (result string, found bool, err error)) Tool {
	return &lookedUp{Tool: t, lookup: lookup}
}

type lookedUp struct {
	Tool
	lookup func(ctx context.Context, key, arguments string) (string, bool, error)
}

// Lookup implements [Lookuper].
func (t *lookedUp) Lookup(ctx context.Context, key, arguments string) (string, bool, error) {
	return t.lookup(ctx, key, arguments)
}

// Check says what is wrong with the tool.
func (t *lookedUp) Check() error {
	if t.lookup == nil {
		return errors.New("tools: WithLookup was given no function")
	}
	return nil
}

// Unwrap returns the tool that is looked up.
func (t *lookedUp) Unwrap() Tool { return t.Tool }
