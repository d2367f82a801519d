// Package segue runs LLM agents as explicit state machines, one step at a time.
//
// A strategy decides and never acts: it answers every call with one step, such as "ask the model"
// or "run these tools". A machine holds the run, and says which effects are due. An orchestrator
// performs them and applies the answers. A run is therefore its records, in order.
//
// This package is the front door: [Agent] asks a model that may call tools, and each of its calls
// says what is below it. The packages, from the bottom up:
//
//	messages                             a conversation as data, and its laws
//	checkpoint                           journals of runs, and a store of them in memory
//	delegation                           what a strategy is given and leaves
//	tools                                what a model can call, and running it safely
//	checkpoint/checkpointtest            a conformance test for stores
//	markdownpolicy                       calls as text, for models that have none of their own
//	tools/filetools                      tools for the files of one folder
//	llmclient                            the contract with models; retry, fallback, rate limit
//	llmclient/openaichat                 Chat Completions, of OpenAI and whoever speaks it
//	llmclient/scripted                   a scripted model, a recorder and a replayer
//	llmclient/llmclienttest              a conformance test for clients
//	llmclient/policyclient               any model client through a text format
//	nextstep                             the protocol: steps and answers
//	strategy                             the contract of strategies; state machines as tables
//	strategy/planreviseexecute/plantext  plans in texts that models write
//	strategy/completetask                work with tools until there is an answer
//	strategy/planreviseexecute           make a plan, have it judged, carry it out, revise it
//	strategy/reflection                  draft, have it judged, draft anew
//	strategy/react                       thought, action and observation, all of them text
//	strategy/retry                       have another strategy do the work, and try again
//	strategy/reasonactobserve            three turns: decide, call tools, say what that showed
//	strategy/stepagent                   one step, which is a function of yours
//	strategy/builtin                     these strategies by name, from JSON
//	machine                              one run as data: records in, effects and events out
//	orchestrator                         performs effects, keeps journals, tells events
//	orchestrator/sse                     runs as server-sent events
//	strategytest                         stories and a conformance test for strategies
//
// Modules of their own, on top of these:
//
//	cmd/segue                            the command line
//	cmd/segue/config                     its configuration, for programs too
//	cmd/segue/internal/...               the rooms of the command
//	bench                                what a step costs, beside a loop written by hand
//	bench/ratios                         the table of what was measured
//
// Programs to begin with:
//
//	docs/examples...                     those of a first day, each run against a server
//
// What programs cannot import:
//
//	internal/guard                       errors and panics of code outside this module
//	internal/jsonform                    what the JSON forms have in common
//	internal/jsonprefix                  JSON of JSON that has come in part
//	internal/prompts                     templates of what is said to a model
//	tools/internal/typeschema            JSON Schemas of Go types
//	markdownpolicy/internal/textscan     bytes, blanks and marks in texts
//	markdownpolicy/internal/jsonscan     JSON within other text
//	markdownpolicy/internal/commonmark   code in texts, as CommonMark has it
//	markdownpolicy/internal/reactscan    replies in the format of ReAct, by their keywords
//	markdownpolicy/internal/jsonrepair   JSON with the usual mistakes of models
//	markdownpolicy/internal/pyliteral    literals and calls of Python, which stand for JSON
//	strategy/internal/frame              what the built-in strategies have in common
//	internal/archtest                    the laws of this tree, as tests
//	internal/growth                      the laws of growth: statements and bytes are counted
//	internal/live                        a short suite that asks a real model
//	internal/prove                       how many cases the properties of whole runs draw
//	internal/release                     prepares versions, and tries to install them
//	internal/scenetest                   a strategy for tests, whose methods are functions
//
// Begin with docs/first-hour.md.
package segue
