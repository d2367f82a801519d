// Package bound computes, before a run, how much the run uses at most: model calls, tool calls,
// steps, frames on top of each other, tokens and cost.
//
//	b, err := bound.Of(&cfg, machine.Started{Strategy: "plan"}, bound.Options{})
//	fmt.Println("at most", b.ModelCalls.Most, "model calls, because of", b.ModelCalls.By)
//
// The orchestrator does the same for a task: Orchestrator.Bound.
//
// # What bounds a run
//
// A frame moves by the table of its strategy. Cycles of a table have caps, so that a frame enters
// each state so many times at most; what its configuration excludes besides, it says as a
// [strategy.Bounder]. A delegation costs as much as the child that needs most, of those that
// its [strategy.Names] list. A call of an agent costs as much as the agent that needs most, times
// its branches. What a frame uses is what it does itself, and its delegations and calls times what
// each of them costs, but no more than the limits: those of the run bound all of it together, those
// of an agent or of a delegation its subtree.
//
// No bound comes from the tables alone if a strategy has none, if a cap is [strategy.Unbounded], if
// a delegation goes to a remote, or if strategies or agents start each other without a limit on
// depth. A model may also make any number of calls in one reply, unless the strategy says
// otherwise; only [delegation.Limits].ToolCalls bounds these, and with them the calls of agents.
//
// # How close it is
//
// No run exceeds its bound, as long as strategies keep to what they say: the bound of one that
// delegates to others than its Children, or does more than its Bounds allow, may be exceeded.
// Explorations hold strategies to the triggers, calls, children and tools of their Bounds. A bound
// may be wider than any run:
//
//   - A limit bounds what it is on, and model calls by steps: with fewer model calls than the
//     tables allow there are fewer steps and tool calls, too, which is not counted.
//   - Each thing is counted for itself: a frame that does most of one may do less of another, and a
//     child that needs all that it may leaves its parent no other choice than to end.
//   - A delegation is taken to cost as much as the dearest child, unless the Bounds of the strategy
//     list what it starts in that state ([strategy.Bounds].Children), as those of package workflow
//     do.
//   - Each call of a model is taken to cost what the dearest may, also where a limit on tokens is
//     in the way.
//   - A strategy may remember what excludes moves that its table and its Bounds allow.
//
// Otherwise there are answers that reach it, as the tests of this package show for the strategies
// of this library.
//
// # What is not counted
//
// The bounds are those of [delegation.Counts] and of the usage of a run. Retries and repairs inside
// a client are model calls that no table knows of: they are charged to the limits after the call,
// and come on top. Limits that a person raises when a run is resumed have a new bound. Limits on
// time bound no counts.
package bound
