// Package tools holds what a model can call, and runs it.
//
// A [Tool] is made of a function: by [New] or [NewPure] with typed arguments, whose JSON Schema
// comes from the type and which are checked before the function runs; or by [NewRaw], for a
// function that reads its arguments itself. A [Set] is tools by name, checked when it is put
// together. A [Runner] runs the calls of one assistant message, at the same time where it may, and
// turns whatever goes wrong into results that the model can read; a [Session] does so for one batch
// after another.
//
// A tool that is running tells what it does with [Progress], asks a person with [Ask], and gets
// from [IdempotencyKey] what makes it safe to run twice.
//
// What a tool may have besides the two methods of [Tool], found by type assertion:
//
//	Pure() bool     Call neither waits nor looks at its context: a Runner calls it on its own goroutine
//	Check() error   the tool was put together wrongly: NewSet fails with it
//	Unwrap() Tool   the tool is a wrapper around another, which is checked, too; whether it is pure it says itself
//
// Arguments are a stranger's text: bounded in size, depth and numbers before anything is built of
// them, never quoted at length in an error.
package tools
