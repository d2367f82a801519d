// Package orchestrator runs strategies: it performs the effects that they ask for, and keeps, tells
// and stops runs.
//
// A [machine.Machine] is the whole state of one run and does no I/O. An [Orchestrator] is the loop
// around one: it stores what was applied, tells [Event] values, performs each [Effect] with a
// [Handler], which [Middleware] may wrap, and applies the answers. The package comment of machine
// shows the loop; this package uses nothing of a Machine that is not exported, and another engine
// needs no more.
//
//	o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: set, Tools: list})
//	result, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: "…"}})
//
// [Orchestrator.Run] returns how a run ended, [Orchestrator.Stream] yields what happens while it
// does. Effects that can go on beside each other do: the calls of a batch, and the agents that
// calls open ([AgentTool]), with [Config].Parallel as the bound.
//
// Where there is a journal ([Config].Store) each record is stored before anything comes of it, so
// that [Orchestrator.Resume] can take the run up again, in another process too. What a run waits
// for is a [Wait], answered by a [Reply]: in the process ([Config].Reply), or when the run is
// resumed. [Config].Approve says which calls wait for a person.
package orchestrator
