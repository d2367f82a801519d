package markdownpolicy

import "github.com/segue-go/segue/messages"

// Example is an example in the instructions of a policy.
type Example struct {
	Text  string
	Parts []messages.AssistantContent
}

// ShownBy returns the examples of a built-in policy.
func ShownBy(p Policy) (examples []Example) {
	for _, e := range p.(interface{ examples() []example }).examples() {
		examples = append(examples, Example{e.text, e.parts})
	}
	return examples
}

// ReadObject reads a JSON object.
func ReadObject(text string, at int, mode Mode) (string, []Repair, *ParseError) {
	return readObject(text, at, mode)
}

// ReadCall reads a call with these keys: of the name, of the arguments, and alternatives for the
// arguments.
func ReadCall(text string, mode Mode, name, arguments string, others ...string) (messages.ToolCall, []Repair, *ParseError) {
	return callForm{name: name, arguments: arguments, others: others}.read(text, 0, mode)
}

// WriteCall writes a call with the keys "name" and "arguments".
func WriteCall(c messages.ToolCall) string {
	return callForm{name: "name", arguments: "arguments"}.write(c)
}

// Steps returns how many steps the package has made. It is nil unless the package was built with a
// counter: see counted_test.go.
var Steps func() int

// LooseDeepSeek reads between the marks of DeepSeek what Hermes reads.
var LooseDeepSeek = looseDeepSeek
