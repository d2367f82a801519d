// Package mcptools offers the tools of MCP servers (Model Context Protocol) as tools of package
// tools.
//
// [Connect] starts a command, or connects to an address, and lists what the server offers. The
// tools of the [Toolset] go through the same checks, approvals, limits, events and results as
// functions of your own. [Join] puts several toolsets together.
//
// A server is a stranger: what it says about itself decides nothing that was not handed to it.
//
//   - Names stay as they are. One that models may not see, such as "files.read", becomes
//     "files_read_" with a hash. A name with control characters or blanks is left out.
//   - Descriptions, schemas, lists, messages and results are bounded; see [Limits]. What is left
//     out is named in the [Listing], with the reason.
//   - Results are untrusted text, and a hint that a tool is read-only or idempotent is not
//     believed, unless the [Config] says so. A hint that it is destructive is.
//   - A command gets no variable of this process but those of [InheritedEnv] and Config.Env. It
//     runs in a process group of its own, which is killed with the Toolset.
//   - What its definitions said when somebody accepted them can be pinned; see [Pins].
//
// A call of a server that has died fails, or is unknown if it may have had its effect. The next one
// connects again, after a pause that grows. If the server changes its list, new runs see it.
//
// A server may ask people (an elicitation). A server without sessions (protocol 2026-07-28) returns
// its question and ends the call: the run waits, and after the answer any process goes on with the
// call. A server with sessions (2025-11-25) asks within the call: the answer must come while this
// process lives. If nobody can be asked in this process, the server is told that the question was
// cancelled, unless the call may be made again: then the run waits, and the call is made again.
//
// Protocol versions 2026-07-28 and 2025-11-25 are spoken, over standard input and output and over
// streamable HTTP. Resources, prompts, roots, sampling, logging and tasks are not.
package mcptools
