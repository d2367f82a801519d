package strategy

import "github.com/segue-go/segue/delegation"

// Agent is a strategy that is called as a tool: a tool is an agent if it has a method
// Agent() *Agent. Each call opens one or more branches, which run in parallel with the other calls
// of the batch. The output of a branch is the result of its call.
type Agent struct {
	Strategy string            // its name in the Set
	Limits   delegation.Limits // limits of each branch, within what is left of the limits above it; zero fields mean those
	Tools    []string          // names of the caller's tools that it may use; nil: all of them
	Branches int               // most branches of one call; with more inputs the call fails. 0: any number

	// Inputs makes the inputs of the branches of a call, one for each branch. If several is true,
	// the results become a JSON array in the same order. Inputs must be pure. Its error becomes the
	// failed result of the call.
	Inputs func(arguments string) (inputs []delegation.Input, several bool, err error)
}
