package wire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/segue-go/segue/llmclient"
)

// Sniffed is the number of bytes needed to distinguish an event stream from JSON: the length of the
// longest field in looksLikeEvents.
const Sniffed = len("event:")

// An Answer takes what a server answers: either one call of Whole, or a call of Event for each
// event. The bytes are valid until the method returns.
type Answer interface {
	// Whole takes an answer that begins like JSON.
	Whole(body []byte) *llmclient.Error

	// Event takes the data of an event, which is not empty, and its name, and reports whether it
	// was the last. No event follows an error.
	Event(name, data []byte) (end bool, err *llmclient.Error)

	// Finished reports whether the reply is complete, so that an error of reading on does not
	// count.
	Finished() bool
}

// Receive reads the answer from r, which reads from x, and gives it to a. The content decides
// whether it is whole or an event stream; its type counts only where the content says nothing. An
// error means that the answer could not be read to its end; it is not clean yet.
func (x *Exchange) Receive(r *Reader, a Answer) *llmclient.Error {
	start := r.Start(Sniffed)
	switch {
	case len(start) > 0 && (start[0] == '{' || start[0] == '['):
		body, failure := r.All()
		if failure != nil {
			return x.broken(failure)
		}
		return a.Whole(unlisted(body))
	case looksLikeEvents(start), len(start) > 0 && isEventStream(x.res.Header.Get("Content-Type")):
		return x.receiveEvents(r, a)
	case r.err != nil && !errors.Is(r.err, io.EOF):
		return x.broken(r.err)
	case len(start) == 0:
		return &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the answer is empty"}
	}
	return &llmclient.Error{
		Code:    llmclient.CodeBadResponse,
		Message: fmt.Sprintf("the answer is neither JSON nor an event stream, but %q", cmp.Or(plainText(string(start)), x.res.Header.Get("Content-Type"))),
	}
}

func isEventStream(contentType string) bool {
	return strings.HasPrefix(strings.ToLower(contentType), "text/event-stream")
}

func (x *Exchange) receiveEvents(r *Reader, a Answer) *llmclient.Error {
	for {
		name, data, failure := r.Next()
		switch {
		case errors.Is(failure, io.EOF):
			return nil
		case failure != nil && a.Finished() && x.parent.Err() == nil:
			return nil // the reply itself was complete
		case failure != nil:
			return x.broken(failure)
		}
		if data = unlisted(data); len(data) == 0 {
			continue
		}
		if end, err := a.Event(name, data); end || err != nil {
			return err
		}
	}
}

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

// KeepWhole keeps a whole answer for Raw, if the server says so.
func (x *Exchange) KeepWhole(body []byte) {
	if x.server.KeepRaw {
		x.kept = bytes.Clone(bytes.TrimSpace(body))
	}
}

// KeepEvent keeps the data of an event, which is JSON, for Raw, if the server says so.
func (x *Exchange) KeepEvent(data []byte) {
	if !x.server.KeepRaw {
		return
	}
	if !x.events {
		x.kept, x.events = append(x.kept, '['), true
	}
	x.kept = append(AppendComma(x.kept), data...)
}

// Raw returns what was kept: the whole answer, or a JSON list of the events; nil if nothing was.
func (x *Exchange) Raw() []byte {
	if x.events {
		return append(x.kept, ']')
	}
	return x.kept
}

// NotJSON returns the error of what should have been JSON, such as an "event".
func NotJSON(what string, data []byte) *llmclient.Error {
	return &llmclient.Error{
		Code:    llmclient.CodeBadResponse,
		Message: fmt.Sprintf("the %s is not JSON: %q", what, strings.ToValidUTF8(string(data[:min(len(data), maxQuoted)]), "\ufffd")),
	}
}

// CutInside returns the error of a whole answer that is the beginning of JSON.
func CutInside() *llmclient.Error {
	return &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the answer ends in the middle of its JSON"}
}
