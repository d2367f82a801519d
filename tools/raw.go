package tools

import "context"

// NewInlineRaw returns an inline tool, as [NewInline] does, from a function that reads its own
// arguments, as [NewRaw] does.
func NewInlineRaw(def Definition, fn func(arguments string) (string, error)) Tool {
	if fn == nil {
		return &inlineRaw{raw{def: def}}
	}
	return &inlineRaw{raw{def: def, fn: func(_ context.Context, arguments string) (string, error) { return fn(arguments) }}}
}

type inlineRaw struct{ raw }

func (*inlineRaw) Inline() bool { return true }
