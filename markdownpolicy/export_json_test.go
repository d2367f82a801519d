package markdownpolicy

import "github.com/segue-go/segue/messages"

// RepairJSON mends JSON.
func RepairJSON(text string) (string, []Repair, bool) { return repairJSON(text) }

// ReadObject reads a JSON object.
func ReadObject(text string, at int, mode Mode) (string, []Repair, *ParseError) {
	return readObject(text, at, mode)
}

// PyLiteral reads a literal of Python.
func PyLiteral(text string) (value string, end int, err *ParseError) { return pyLiteral(text, 0) }

// ReadCall reads a call whose keys are given: of the name, of the arguments, and others for these.
func ReadCall(text string, mode Mode, name, arguments string, others ...string) (messages.ToolCall, []Repair, *ParseError) {
	return callForm{name: name, arguments: arguments, others: others}.read(text, 0, mode)
}

// WriteCall writes a call with the keys "name" and "arguments".
func WriteCall(c messages.ToolCall) string {
	return callForm{name: "name", arguments: "arguments"}.write(c)
}
