// Package orchestrator runs strategies. It performs the effects that they request, stores runs,
// emits their events, and stops and resumes them.
//
// A [machine.Machine] is the whole state of one run and does no I/O. An [Orchestrator] is the loop
// around a Machine: it stores records, emits events (type [machine.Event]), performs each
// [machine.Effect] with a [Handler], which [Middleware] may wrap, and applies the answers. The
// package comment of machine shows the loop. This package uses only the exported API of Machine, so
// you can write another engine in the same way, and have [Orchestrator.Perform] perform its
// effects.
//
// An engine that has workers, queues and timers of its own, such as a workflow service, need not
// drive the Machine: [Orchestrator.Begin], Step and Continue do that, one effect at a time, in any
// number of processes. The runs lie in the store as those of the loop do, so that all that reads
// runs, such as Follow, reads them as well.
//
//	o, err := orchestrator.New(orchestrator.Config{Client: model, Strategies: set, Tools: list})
//	result, err := o.Run(ctx, orchestrator.Task{Input: delegation.Input{Goal: "…"}})
//
// [Orchestrator.Run] returns the result of a run; [Orchestrator.Stream] yields its events while
// they happen. Independent effects run in parallel, up to [Config].Parallel: the calls of a batch,
// and agents that are called as tools ([AgentTool]).
//
// Some servers leave the calls of a model in the text of its reply. If the request offers tools,
// and the reply has no native call, calls that end the text are made as if the server had returned
// them ([markdownpolicy.LeftCalls]); [Config].KeepTextCalls turns this off. They stay text
//
//   - if the server is known to return calls as such ([llmclient.NativeCaller]), or has returned
//     one for the model;
//   - if a message of a user or a tool holds the call, or names its tool and gives its arguments,
//     or the user asks to be shown a call of the tool;
//   - if the reply was cut off, or is the JSON that the request asks for.
//
// After text from outside was read, such a call needs a person's approval, unless its tool is
// read-only. A call of a tool that was not offered, or with arguments that do not fit, is an
// [llmclient.Error] with CodeMalformedToolCall, which strategies give back to the model.
//
// With a store ([Config].Store) each run has a journal, which others call a checkpoint: each record
// is stored before its consequences happen. So [Orchestrator.Resume] can continue the run, also in
// another process. When a run needs an answer from a person, it creates a [machine.Wait], which
// others call an interrupt. A [machine.Reply] answers it: in the process ([Config].Reply), or when
// the run is resumed. [Config].Approve says which tool calls need a person's approval. Package runs
// compares, forks and moves the runs of a store.
package orchestrator
