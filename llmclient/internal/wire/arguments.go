package wire

import (
	"bytes"
	"strconv"

	"github.com/segue-go/segue/internal/jsonform"
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

// NoArguments reports whether arguments say nothing: blanks, null or {}.
func NoArguments[T string | []byte](args T) bool {
	return string(bytes.TrimSpace([]byte(Arguments([]byte(args))))) == "{}"
}

// JoinArguments returns the arguments of a call that a provider has told twice: in pieces, which may
// have broken off, and whole. Where one of them says nothing or is the beginning of the other, the
// other one counts. Otherwise they have to be the same JSON; it reports whether they are.
func JoinArguments(came, whole []byte) (args []byte, agree bool) {
	switch {
	case NoArguments(whole), bytes.HasPrefix(came, whole):
		return came, true
	case NoArguments(came), bytes.HasPrefix(whole, came):
		return whole, true
	}
	return came, jsonform.Canonical(string(came)) == jsonform.Canonical(string(whole))
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

// astray returns an error if arguments have come without the name of their call while another call
// has none: nobody knows what the model gave.
func astray(calls []messages.ToolCall) *llmclient.Error {
	nameless, bare := false, ""
	for i := range calls {
		switch c := &calls[i]; {
		case c.Name == "":
			nameless = nameless || !NoArguments(c.Arguments)
		case bare == "" && NoArguments(c.Arguments):
			bare = c.Name
		}
	}
	if !nameless || bare == "" {
		return nil
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "arguments came without the name of their call, and the call " + strconv.Quote(bare) + " has none"}
}
