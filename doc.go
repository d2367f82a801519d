// Package segue runs LLM agents as explicit state machines, one step at a time.
//
// A strategy decides and never acts: each of its methods returns one step, such as "ask the model"
// or "run these tools". A machine holds the state of the run and says which effects are due. An
// orchestrator performs the effects and applies the answers. A run is therefore a list of records,
// its journal (others call it a checkpoint), from which it can be resumed.
//
// Start with this package: [Agent] asks a model that may call tools. The documentation of each
// method names the lower-level API that it uses. The packages, from the bottom up:
//
//	messages                             a conversation as data, and its rules
//	checkpoint                           journals of runs (checkpoints), and an in-memory store
//	delegation                           the input and the output of a strategy
//	tools                                functions that a model can call, and how to run them safely
//	checkpoint/sealed                    encryption of the records of any store
//	checkpoint/checkpointtest            a conformance test for stores
//	markdownpolicy                       tool calls as text, for models without native ones
//	tools/filetools                      tools for the files of one folder
//	llmclient                            the interface of models; retry, fallback, rate limit
//	llmclient/openaichat                 Chat Completions, for OpenAI and compatible servers
//	llmclient/openairesponses            the Responses API of OpenAI, stateless
//	llmclient/scripted                   a scripted model, a recorder and a replayer
//	llmclient/llmclienttest              a conformance test for clients
//	llmclient/policyclient               wraps a model client in a text format
//	nextstep                             the protocol: steps and answers
//	strategy                             the interface of strategies; state machines as tables
//	strategy/compaction                  keeps a conversation within the window of a model
//	strategy/toolsearch                  offers many tools by a search, for strategies
//	strategy/completetask                works with tools until there is an answer
//	strategy/planreviseexecute           makes a plan, has it judged, executes and revises it
//	strategy/reflection                  writes a draft, has it judged, writes a better one
//	strategy/react                       thought, action and observation, all as text
//	strategy/retry                       runs another strategy again when it fails
//	strategy/reasonactobserve            steps of three turns: decide, call tools, observe
//	strategy/stepagent                   runs a Go function of yours as each step
//	strategy/workflow                    composes strategies: a chain, all at once, a loop, a choice
//	strategy/builtin                     these strategies by name, from JSON
//	machine                              one run as data: records in, effects and events out
//	machine/bound                        computes how much a run uses at most, before it
//	orchestrator/internal/journals       reads the journals of runs
//	strategytest/coverage                which states and transitions runs came through
//	orchestrator                         performs effects, stores journals, emits events
//	strategytest/explore                 everything that the world can answer to a strategy, tried
//	orchestrator/runs                    compares, forks, exports and imports runs of a store
//	orchestrator/sse                     serves runs as server-sent events
//	strategytest                         stories and a conformance test for strategies
//	strategytest/crash                   runs cut off wherever a process can die, for tests of yours
//	eval                                 measures whether an agent got better
//
// Modules of their own, on top of these:
//
//	checkpoint/pgstore                   journals of runs in a PostgreSQL database
//	checkpoint/sqlitestore               journals of runs in a SQLite file
//	llmclient/anthropic                  the Messages API of Anthropic
//	otel                                 traces and metrics of runs, by OpenTelemetry
//	temporal                             runs on Temporal, on many machines
//	temporal/cmd/segue-worker            a worker of the agents of a configuration, on Temporal
//	tools/mcptools                       tools of MCP servers
//	cmd/segue                            the command line
//	cmd/segue/config                     its configuration, for programs too
//	cmd/segue/internal/cmd/...           its commands, a folder for each noun
//	cmd/segue/internal/...               packages of the command only
//	bench                                what a step costs, compared with a hand-written loop
//	bench/ratios                         prints the table of measurements
//
// Programs to begin with:
//
//	docs/examples...                     the programs of the guides; a test runs each one
//
// Internal packages, which programs cannot import:
//
//	internal/textcut                     shortens texts without dividing a character
//	internal/toolkey                     keys of the context of a tool
//	internal/waittest                    bounds what tests wait for
//	internal/asktime                     how long something waits for people
//	internal/guard                       errors and panics of code outside this module
//	internal/jsonform                    shared code of the JSON forms
//	internal/jsonprefix                  completes JSON that has arrived in part
//	internal/prompts                     templates of prompts
//	internal/prove                       how much a test run does of what takes long: cases, depth
//	internal/prove/installed             installs what tests need from npm and PyPI
//	internal/repeats                     notices a text that goes on repeating one block
//	internal/similar                     the name that somebody meant who misspelt it
//	internal/wholefile                   replaces a file as a whole
//	tools/internal/boundschema           compiles and checks schemas of strangers in bounded time
//	tools/internal/schemamemo            keeps what was compiled last
//	tools/internal/typeschema            JSON Schemas of Go types
//	markdownpolicy/internal/textscan     scans bytes, blanks and marks in texts
//	markdownpolicy/internal/jsonscan     finds JSON within other text
//	markdownpolicy/internal/commonmark   finds code in texts, by the rules of CommonMark
//	markdownpolicy/internal/reactscan    scans ReAct replies for their keywords
//	markdownpolicy/internal/jsonrepair   repairs JSON with the usual mistakes of models
//	markdownpolicy/internal/pyliteral    reads Python literals and calls as JSON
//	checkpoint/internal/tables           shared code of the stores that keep runs in tables
//	internal/contentsize                 how much of a model's context a part of a message takes
//	internal/toolrun                     runs tools: a call has one result
//	internal/owntool                     tools that strategies bring themselves
//	llmclient/internal/wire              shared code of the clients that ask models over HTTP
//	llmclient/internal/openaiapi         shared code of the clients of OpenAI's APIs
//	strategy/planreviseexecute/internal/...  plans, read from texts and as data
//	strategy/internal/...                what the built-in strategies stand on
//	internal/strategytest/alphabet       what models may answer in the protocols of strategies
//	internal/archtest                    tests of the rules of this source tree
//	internal/growth                      tests of how costs grow, by counting statements and bytes
//	internal/pgtest                      starts PostgreSQL servers for tests
//	internal/release                     prepares releases, and tests that they install
//	internal/scenetest                   a strategy for tests; its methods are function fields
//	checkpoint/internal/storetest        what the tests of both stores claim of each
//	internal/soak                        kills and freezes processes with runs; fills disks
//	markdownpolicy/templatetest          compares policies with the chat templates of their models
//
// Begin with docs/first-hour.md; docs/concepts.md explains the words.
package segue
