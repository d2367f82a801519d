package frame

import (
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// Hopeless reports whether a child failed for a reason that does not depend on its task, so that it
// would fail again: the depth limit, or an unknown strategy that it, or a descendant, delegated to.
func Hopeless(out delegation.Output) bool {
	if out.Err == nil {
		return false
	}
	if _, ok := errors.AsType[*strategy.UnknownError](out.Err); ok {
		return true
	}
	return out.Err.Code == delegation.CodeLimit && out.Counts.ModelCalls == 0 && out.Counts.ToolCalls == 0
}

// NoChild reports whether a delegation failed because the strategy is unknown or cannot be made.
func NoChild(f nextstep.Failure) bool {
	return f.Source == nextstep.SourceStrategy && f.Code == delegation.CodeInvalid
}
