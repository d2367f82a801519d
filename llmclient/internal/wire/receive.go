package wire

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/segue-go/segue/llmclient"
)

// unlisted returns JSON without blanks around it, and without the list in which Gemini has the
// single object of an error.
func unlisted(data []byte) []byte {
	data = bytes.TrimSpace(data)
	if inner, listed := bytes.CutPrefix(data, []byte{'['}); listed && bytes.HasPrefix(bytes.TrimSpace(inner), []byte{'{'}) {
		if one := bytes.TrimSuffix(inner, []byte{']'}); ValidJSON(one) {
			return bytes.TrimSpace(one)
		}
	}
	return data
}

// keepWhole keeps a whole answer for raw, if the server says so.
func (x *Exchange) keepWhole(body []byte) {
	if x.server.KeepRaw {
		x.kept = bytes.Clone(bytes.TrimSpace(body))
	}
}

// keepEvent keeps the data of an event, which is JSON, for raw, if the server says so.
func (x *Exchange) keepEvent(data []byte) {
	if !x.server.KeepRaw {
		return
	}
	if !x.events {
		x.kept, x.events = append(x.kept, '['), true
	}
	x.kept = append(AppendComma(x.kept), data...)
}

// raw returns what was kept: the whole answer, or a JSON list of the events; nil if nothing was.
func (x *Exchange) raw() []byte {
	if x.events {
		return append(x.kept, ']')
	}
	return x.kept
}

// notJSON returns the error of what should have been JSON, such as an "event".
func notJSON(what string, data []byte) *llmclient.Error {
	return &llmclient.Error{
		Code:    llmclient.CodeBadResponse,
		Message: fmt.Sprintf("the %s is not JSON: %q", what, strings.ToValidUTF8(string(data[:min(len(data), maxQuoted)]), "\ufffd")),
	}
}
