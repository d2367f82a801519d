// Package strategy defines the contract for deciding what an agent does next, and the means to
// write such decisions as explicit state machines.
//
// A [Strategy] decides and never acts. It answers each call with one [nextstep.NextStep], which its
// driver performs. It has no access to a context, clock, client or goroutine. A run of it is
// therefore determined by its input and the answers it received.
//
// A [Table] declares the states of a strategy, the kind of step that each state awaits, the
// transitions with their triggers, and the caps that limit loops. The table does not merely
// describe the machine; it is the machine: [Table.New] builds the [FSM] that makes every
// transition,
//
//	return s.fsm.Then(called, nextstep.ExecuteTools{Calls: calls})
//
// and the same table gives the checks ([Table.Validate]) and the diagrams ([Table.Mermaid],
// [Table.DOT]).
//
// # Abilities
//
// A driver finds these optional methods by type assertion:
//
//	FailureHandler   ProcessFailure(nextstep.Failure) nextstep.NextStep
//	                 decides after a step that could not be performed; without it the frame fails
//	CallEditor       EditCalls([]messages.ToolCall)
//	                 receives calls that a person or a middleware changed; without it the strategy
//	                 keeps the model's
//	Concluder        Conclude(reason string) delegation.Output
//	                 gives a last output when the run is stopped; without it the messages so far
//	                 are the output
//	Inheritor        Inherit(delegation.Output)
//	                 receives the work of its child when the run was stopped, before Conclude
//	BranchInheritor  InheritBranches([]BranchOutput)
//	                 receives the whole outputs of the agents that it called; without it only the
//	                 results of the calls
//	ToolUser         UseTools([]tools.Definition)
//	                 receives the tools of the run that its frame may use
//	Namer            Names() Names
//	                 lists the tools and strategies of the run that its configuration names: a
//	                 missing one is found at set-up
//	ToolProvider     Tools() []tools.Tool
//	                 adds tools of its own
//	Listener         Hear(note string)
//	                 hears notes for a run that is at work; without it the strategy goes on as if
//	                 there were none
//	Tabler           FSM() *FSM
//	                 has its table and caps checked at set-up, and its state reported; without it
//	                 New of the orchestrator warns
//	Bounder          Bounds() Bounds
//	                 says what its configuration bounds besides its table; without it the bounds
//	                 of runs are wider
//	Snapshotter      Snapshot() (json.RawMessage, error), Restore(json.RawMessage) error
//	                 has its memory written down and read back; without it a waiting run cannot be
//	                 moved to other code
//	Checker          Check() error
//	                 returns an error of its configuration: reported at set-up
package strategy
