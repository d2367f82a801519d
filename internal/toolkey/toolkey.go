// Package toolkey has the keys of the context of a tool. Package tools reads what is under them,
// and package toolrun puts it there.
package toolkey

// Call is the key of the call.
type Call struct{}

// Ask is the key of the tools.AskFunc.
type Ask struct{}
