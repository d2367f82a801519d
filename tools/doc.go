// Package tools defines the tools that a model can call, and runs them.
//
// A [Tool] is made from a function. [New] and [NewInline] take a function with typed arguments: the
// JSON Schema is inferred from the type, and the arguments are checked before the function runs.
// [NewRaw] takes a function that reads its arguments itself. A [Set] holds tools by name and checks
// them when it is made. A [Runner] performs one call and turns every failure into a result that the
// model can read.
//
// [Runner.Run] waits until the tool returns. To give up on a tool that hangs, or to run several
// calls at the same time, start each call with [Runner.Begin] and perform it on a goroutine.
// [Running.Due] returns the time at which the call times out. [Running.Abandon] ends the call and
// returns a result for it. See the example of Begin. The caller decides on goroutines, concurrency
// and order.
//
// A running tool can report its progress with [Progress], ask a person with [Ask], hand over files
// with [Attach], and get a key with [IdempotencyKey] that makes it safe to run twice.
//
// A Tool may have these methods in addition to the two of [Tool]; they are found by type assertion:
//
//	Inline() bool   Call runs on the goroutine of the run: it has no time-out, and no goroutine of its own
//	Check() error   the tool was made wrongly: NewSet fails with this error
//	Unwrap() Tool   the tool wraps another, which is checked, too; the wrapper's own Inline method counts
//
// Arguments are untrusted text. Their size, depth and numbers are limited before anything is built
// from them, and errors never quote them at length.
package tools
