// Command segue runs tasks with language models and tools from the command line.
//
//	segue demo                     a run with a scripted model: no key, no network
//	segue run [flags] TASK|-       a run with a model
//	segue chat [flags]             a conversation with a model, turn by turn
//	segue resume [RUN]             go on with a run
//	segue runs                     the runs that are kept; show, answer, stop, prune, forget,
//	                               replay, diff, fork, export and import are about runs too
//	segue sessions                 the conversations that are kept
//	segue agents [FILE]            the agents of a configuration
//	segue config check [FILE]      the problems of a configuration; segue config schema: its JSON
//	                               Schema
//	segue doctor                   what works at the server of a model, and what to set
//	segue models [WORD]...         the models of the server
//	segue config show              the settings that a run would have, and where they are from
//	segue tools [SERVER]...        the tools, and those of MCP servers; segue tools call NAME: try
//	                               one
//	segue mcp serve                agents of the configuration as an MCP server
//	segue graph STRATEGY           the state machine of a strategy
//	segue parse [FILE|-]           the thoughts and tool calls in the text of a reply
//	segue eval FILE                what agents get right; segue eval add FILE RUN makes a case of a
//	                               run
//	segue policies                 the text formats for tool calls
//	segue trust [FILE]             trust a configuration that was found, and not named
//	segue version                  what was built, and of what
//	segue completion SHELL         completions for a shell
//
// Results go to standard output, progress and errors to standard error. The exit codes are
// constants of this package and part of the interface; see README.md.
package main

import "os"

func main() { os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)) }
