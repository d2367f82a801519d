// Package toolkey has the keys of the context of a tool. Package tools reads what is under them,
// and package toolrun puts it there.
package toolkey

type (
	Call struct{} // the call
	Ask  struct{} // the tools.AskFunc
)
