package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Arguments returns the arguments of a call as the model wrote them. Where there are none, or null
// alone, they are {}.
func Arguments(args []byte) string {
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || string(trimmed) == "null" {
		return "{}"
	}
	return string(args)
}

// NoArguments reports whether arguments say nothing: blanks, null, {}, or what servers write for
// {}.
func NoArguments[T string | []byte](args T) bool {
	said := bytes.TrimSpace([]byte(args))
	if n := len(said); n >= 2 && (said[0] == '{' && said[n-1] == '}' || said[0] == '[' && said[n-1] == ']') {
		return len(bytes.TrimSpace(said[1:n-1])) == 0
	}
	return len(said) == 0 || string(said) == "null" || string(said) == `""`
}

// JoinArguments returns the arguments of a call that a provider has told twice: in pieces, which
// may have broken off, and whole. Where one of them says nothing or is the beginning of the other,
// but for blanks, the other one counts, unless the one that is whole is JSON. Otherwise they have
// to be the same JSON, with numbers of the same value; it reports whether they are.
func JoinArguments(came, whole []byte) (args []byte, agree bool) {
	c, w := bytes.TrimSpace(came), bytes.TrimSpace(whole)
	switch {
	case NoArguments(w), bytes.HasPrefix(c, w) && !ValidJSON(w):
		return came, true
	case NoArguments(c), bytes.HasPrefix(w, c), bytes.HasPrefix(c, w):
		return whole, true
	}
	var x, y any
	return came, json.Unmarshal(c, &x) == nil && json.Unmarshal(w, &y) == nil && reflect.DeepEqual(x, y)
}

// Contradiction returns the error for events of a reply that truly differ in the arguments of a
// call, or in a text if that is "".
func Contradiction(call string) *llmclient.Error {
	what := "a text"
	if call != "" {
		what = "the arguments of the call " + strconv.Quote(call)
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the events of the reply differ in " + what}
}

// astray returns an error if arguments have come without the name of their call, or behind the
// whole arguments of another one, while a call has none: nobody knows what the model gave.
func astray(calls []messages.ToolCall) *llmclient.Error {
	bare := slices.IndexFunc(calls, func(c messages.ToolCall) bool { return c.Name != "" && NoArguments(c.Arguments) })
	lost := func(c messages.ToolCall) bool {
		d := json.NewDecoder(strings.NewReader(c.Arguments))
		joined := d.Decode(&json.RawMessage{}) == nil && d.More()
		return joined || c.Name == "" && !NoArguments(c.Arguments)
	}
	if bare < 0 || !slices.ContainsFunc(calls, lost) {
		return nil
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "arguments came that belong to no call, and the call " + strconv.Quote(calls[bare].Name) + " has none"}
}
