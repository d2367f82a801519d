package tools

import "context"

// NewPureRaw returns a tool from a function that reads its own arguments, as [NewRaw] does, and
// like those of [NewPure] neither waits nor needs a context, and has no time-out.
func NewPureRaw(def Definition, fn func(arguments string) (string, error)) Tool {
	if fn == nil {
		return &pureRaw{raw{def: def}}
	}
	return &pureRaw{raw{def: def, fn: func(_ context.Context, arguments string) (string, error) { return fn(arguments) }}}
}

type pureRaw struct{ raw }

func (*pureRaw) Pure() bool { return true }
