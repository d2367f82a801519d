package explore

import (
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/nextstep"
)

// ofChild lists the possible outputs of a child that is not run.
var ofChild = func() []Reaction {
	result, empty := "a result", ""
	ends := func(name string, out delegation.Output) Reaction {
		out.Counts.Steps = 1 // a child that reports nothing counts with all its limits
		r := Answer("child "+name, nextstep.DelegationResult{Output: out})
		r.Odd = name != "result"
		return r
	}
	return []Reaction{
		ends("result", delegation.Output{Result: &result}),
		ends("empty", delegation.Output{Result: &empty}),
		ends("nothing", delegation.Output{}),
		ends("failed", delegation.Output{Result: &result, Err: &delegation.Error{Code: delegation.CodeFailed, Message: "the child failed"}}),
		ends("limit", delegation.Output{Err: &delegation.Error{Code: delegation.CodeLimit, Message: "too deep"}}),
		ends("stopped", delegation.Output{Err: &delegation.Error{Code: delegation.CodeStopped, Message: "it was stopped"}}),
		Answer("child unreachable", nextstep.Failure{Source: nextstep.SourceStrategy, Code: delegation.CodeFailed, Message: "nobody there"}).AsOdd(),
	}
}()
