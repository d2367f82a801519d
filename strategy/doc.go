// Package strategy is the contract for deciding what an agent does next, and the tools to write
// such decisions as explicit state machines.
//
// A [Strategy] decides and never acts: each call is answered with one [nextstep.NextStep], which
// somebody else performs. It sees no context, clock, client or goroutine, so a run of it is its
// input plus the answers it was given.
//
// A strategy's states stand in a [Table]: which states there are, what kind of step is awaited in
// each, which trigger leads where, and which cap bounds a loop. The table is not a description of
// the machine, it is the machine: [Table.New] builds the [FSM] that every decision goes through,
//
//	return s.fsm.Then(called, nextstep.ExecuteTools{Calls: calls})
//
// and the same table gives the checks ([Table.Validate]) and the diagrams ([Table.Mermaid],
// [Table.DOT]).
//
// # Abilities
//
// Whoever drives a strategy looks for these by type assertion:
//
//	FailureHandler   ProcessFailure(nextstep.Failure) nextstep.NextStep   hears of a step that could not be performed; without it the frame fails
//	CallEditor       EditCalls([]messages.ToolCall)                       hears of calls that a middleware changed; without it the strategy keeps the model's
//	Concluder        Conclude(reason string) delegation.Output            gives a last output when the run is stopped; without it the messages so far are the output
//	Inheritor        Inherit(delegation.Output)                           hears what its child had reached when the run was stopped, before Conclude
//	ToolUser         UseTools([]tools.Definition)                         hears which of the run's tools its frame may use
//	ToolNamer        ToolNames() []string                                 says which of the run's tools its configuration names: one that is missing is found at set-up
//	Delegator        Children() []string                                  says which strategies its configuration names to delegate to: one that is missing is found at set-up
//	ToolProvider     Tools() []tools.Tool                                 brings tools of its own
//	Stater           State() State                                        tells its state, for events and diagrams
//	Tabler           FSM() *FSM                                           has its table and caps checked at set-up, and its state told; without it New of the orchestrator warns
//	Checker          Check() error                                        was configured wrongly: reported at set-up
package strategy
