// Package owntool makes the tools that a strategy brings itself. Their functions only read their
// arguments, so the packages of strategies, which are pure, need no context for them.
package owntool

import (
	"context"

	"github.com/segue-go/segue/tools"
)

// New returns a tool from a function that reads its own arguments, as [tools.NewRaw] does.
func New(def tools.Definition, fn func(arguments string) (string, error)) tools.Tool {
	return tools.NewRaw(def, func(_ context.Context, arguments string) (string, error) { return fn(arguments) })
}
