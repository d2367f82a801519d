package frame

import (
	"errors"

	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
	"github.com/segue-go/segue/strategy"
)

// Hopeless reports whether a child failed in a way that has nothing to do with what it was asked
// for, so that it would fail again: it stands too deep, or there is no strategy that it, or one
// below it, delegated to.
func Hopeless(out delegation.Output) bool {
	if out.Err == nil {
		return false
	}
	if _, ok := errors.AsType[*strategy.UnknownError](out.Err); ok {
		return true
	}
	return out.Err.Code == delegation.CodeLimit && out.Counts.ModelCalls == 0 && out.Counts.ToolCalls == 0
}

// NoChild reports whether a delegation failed because there is no such strategy, or none can be
// made.
func NoChild(f nextstep.Failure) bool {
	return f.Source == nextstep.SourceStrategy && f.Code == delegation.CodeInvalid
}
