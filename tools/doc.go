// Package tools holds what a model can call, and runs it.
//
// A [Tool] is made of a function: by [New] or [NewInline] with typed arguments, whose JSON Schema
// comes from the type and which are checked before the function runs; or by [NewRaw], for a
// function that reads its arguments itself. A [Set] is tools by name, checked when it is put
// together. A [Runner] performs one call, and turns whatever goes wrong into a result that the
// model can read.
//
// [Runner.Run] waits for a tool as long as the tool takes. Whoever wants to give up on a tool that
// hangs, or to run several calls at the same time, begins each with [Runner.Begin] and performs it
// on a goroutine: [Running.Due] says when its time is over, and [Running.Abandon] makes the result
// that stands for it. The example of Begin shows how. Goroutines, how many calls run at once and in
// which order are that caller's.
//
// A tool that is running tells what it does with [Progress], asks a person with [Ask], hands over
// files with [Attach], and gets from [IdempotencyKey] what makes it safe to run twice.
//
// What a tool may have besides the two methods of [Tool], found by type assertion:
//
//	Inline() bool   Call is made on the goroutine of the run: it has no time-out, and no goroutine of its own
//	Lookup(…)       finds out what became of a call whose process died, see [Lookuper]
//	Check() error   the tool was put together wrongly: NewSet fails with it
//	Unwrap() Tool   the tool is a wrapper around another, which is checked, too; whether it is inline it says itself
//
// Arguments are a stranger's text: bounded in size, depth and numbers before anything is built of
// them, never quoted at length in an error.
package tools
