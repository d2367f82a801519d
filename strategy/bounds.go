package strategy

import "github.com/segue-go/segue/delegation"

// Bounder is a [Tabler] whose configuration bounds a frame more than its table does. The bounds of
// a run, which package machine/bound computes before it, are then closer. Without a Bounder they
// are those of the table.
//
// A Bounder that is a [ToolUser] is given all tools of the run first: what it says must also hold
// for frames that may use fewer.
type Bounder interface {
	Bounds() Bounds
}

// Bounds are what a strategy does at most in one frame, whatever it is answered. They belong to the
// configuration: every strategy of one factory has the same. The zero Bounds says nothing. A Bounds
// is read-only.
type Bounds struct {
	// Triggers says how often a trigger is fired at most, from all states together; 0: never. A
	// trigger that is not in the map is fired as often as the table allows.
	Triggers map[Trigger]int

	// Calls says how many calls a step has at most, by the state that awaits their results. In a
	// state that is not in the map a step may have any number of calls.
	Calls map[State]int

	// AgentStates lists the states in which its calls are calls of agents that it brings itself,
	// and of nothing else, if it calls these in no other state. Nil means that it may call them in
	// any state.
	AgentStates []State

	// Starts says how many children it starts at most, by delegations and by calls in the
	// AgentStates together; 0: it does not say.
	Starts int

	// Offers lists the tools of the run that its requests offer or that it calls by itself. Nil
	// means all that the frame may use. The tools that it brings itself are not among them.
	Offers []string

	// Delegates lists what a [nextstep.Delegate] may start in a state that is not in Children. If
	// both are nil, it may start any of its Names, with all tools and no limits of their own.
	Delegates []Child

	// Children lists what it starts in the states that it names: by a delegation, or by the calls
	// of agents that it brings, each of them at most once. The bound of the run takes each of these
	// for what it is, instead of for the dearest. If Delegates is nil, nothing else is started, and
	// Starts and AgentStates, which do not count these, are not needed.
	Children map[State][]Child
}

// Child is what a strategy starts, in its [Bounds].
type Child struct {
	Strategy string
	Tools    []string          // as in nextstep.Delegate, or more
	Limits   delegation.Limits // as in nextstep.Delegate, or wider
}
