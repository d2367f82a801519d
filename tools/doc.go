// Package tools defines the tools that a model can call.
//
// A [Tool] is made from a function. [New] takes a function with typed arguments: the
// JSON Schema is inferred from the type, and the arguments are checked before the function runs.
// [NewRaw] takes a function that reads its arguments itself. A [Set] holds tools by name and checks
// them when it is made.
//
// The Orchestrator of package orchestrator runs tools: in a run, or one call by its Perform. It
// turns every failure of a tool into a result that the model can read, and gives up on a tool that
// hangs.
//
// A running tool can report its progress with [Progress], ask a person with [Ask], wait for answers
// and go on with a state of its own with [Suspend], hand over files with [Attach], show the model
// pictures with [ShowImage], and get a key with [IdempotencyKey] that makes it safe to run twice.
//
// A Tool may have these methods in addition to the two of [Tool]; they are found by type assertion:
//
//	Lookup(…)       finds out what became of a call whose process died, see [Lookuper]
//	Check() error   the tool was put together wrongly: NewSet fails with it
//	Unwrap() Tool   the tool is a wrapper around another, which is checked, too
//
// Arguments are untrusted text. Their size, depth and numbers are limited before anything is built
// from them, and errors never quote them at length.
package tools
