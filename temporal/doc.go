// Package temporal runs the tasks of an orchestrator on Temporal: many workers on many machines,
// with Temporal's scheduling, time-outs, task queues and user interface.
//
//	o, err := orchestrator.New(orchestrator.Config{Store: store, Client: model, Tools: list})
//	engine := temporal.Engine{Client: c, Orchestrator: o, Queue: "agents"}
//
//	w := worker.New(c, "agents", worker.Options{}) // in a worker
//	engine.Register(w)
//	go engine.Forward(ctx, store, 0, nil)
//	err = w.Run(worker.InterruptCh())
//
//	key, err := engine.Start(ctx, task)            // anywhere
//	result, err := engine.Result(ctx, key)
//
// The store is the record, Temporal is the clock. A run has one workflow, whose id is the run's.
// The workflow holds no strategy, no prompt and no result: its state is a [State], the numbers of
// the run's open effects and waits. Each effect is an activity, which reads the run in the store,
// performs the effect, and stores what came of it with all that follows from it. So strategies need
// not be deterministic, they change while runs are in progress as they do with the loop, the
// history of a run stays small, and where the two disagree the store wins. All that package runs,
// sse and the command segue do with a run in a store they do with these. Small runs may do without
// a database: a [Store] keeps them in Temporal itself.
//
// An effect that is safe to repeat is tried again by Temporal when a worker dies, freezes or loses
// its network. A call of a tool that is neither read-only nor idempotent has one attempt; if that
// ends without a result, a person is asked, as by the loop ([machine.WaitUnknown]).
//
// docs/temporal.md says when to use this package, and when not.
package temporal
