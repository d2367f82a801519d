// Package segue runs LLM agents as explicit state machines, one step at a time.
//
// A strategy decides and never acts: it answers every call with one step, such as "ask the model"
// or "run these tools". A machine holds the run, and says which effects are due. An orchestrator
// performs them and applies the answers. A run is therefore its records, in order.
//
// This package holds only this page. The packages, from the bottom up:
//
//	messages                a conversation as data, and the laws that providers hold it to
//	delegation              what a strategy is given and leaves: input, output, errors, limits
//	tools                   what a model can call, and running it safely
//	tools/filetools         tools for the files of one folder
//	llmclient               the contract with models; retry, fallback, rate limit
//	llmclient/openaichat    OpenAI's Chat Completions, and every server that speaks it
//	llmclient/scripted      a scripted model, a recorder and a replayer
//	markdownpolicy          text formats for thoughts and calls, for models without tool calls of their own
//	llmclient/policyclient  any model client through such a format
//	nextstep                the protocol: steps and answers
//	strategy                the contract of strategies, and their state machines as tables
//	strategy/completetask   work with tools until there is an answer
//	strategy/planreviseexecute  make a plan, have it judged, carry it out by delegation, revise it
//	strategytest   stories and a conformance test for strategies
//	checkpoint              journals of runs, and a store of them in memory
//	machine                 one run as data: records in, effects and events out
//	orchestrator            the loop that performs the effects of a machine, keeps its journal and tells its events
//	orchestrator/sse        runs as server-sent events
//	cmd/segue               the command line (a module of its own)
//
// Begin with the example of package orchestrator.
package segue
