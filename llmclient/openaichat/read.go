package openaichat

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/segue-go/segue/llmclient"
)

// sniffed is the number of bytes needed to distinguish an event stream from JSON: the length of the
// longest field in looksLikeEvents.
const sniffed = len("event:")

// maxIdleBuffer is the size of the largest buffer that is kept for the next answer.
const maxIdleBuffer = 256 << 10

// reading holds the buffers for reading an answer, which are reused.
type reading struct {
	reader
	decoder
	kept []byte // for Response.Raw
}

func (c *Client) reading(src io.Reader) *reading {
	r, ok := c.readings.Get().(*reading)
	if !ok {
		r = &reading{}
	}
	r.reader = reader{src: src, buf: r.buf, name: r.name, data: r.data}
	return r
}

func (c *Client) release(r *reading) {
	r.src, r.kept = nil, nil
	if cap(r.buf)+cap(r.data)+r.Kept() <= maxIdleBuffer {
		c.readings.Put(r)
	}
}

// read reads the answer in either form and returns its content.
func (x *exchange) read(acc *accumulator) (*llmclient.Response, *llmclient.Error) {
	r := x.client.reading(x)
	defer x.client.release(r)
	err := x.fill(r, acc)
	var resp *llmclient.Response
	if err == nil {
		resp, err = acc.result()
	}
	if err != nil {
		err.Partial, err.Usage = acc.message(true), acc.tokens()
		return nil, x.clean(err)
	}
	resp.Raw = r.kept
	return resp, nil
}

// fill reads the answer into acc. An error means that the answer could not be read to its end.
func (x *exchange) fill(r *reading, acc *accumulator) *llmclient.Error {
	start := r.start(sniffed)
	switch {
	case len(start) > 0 && (start[0] == '{' || start[0] == '['):
		return x.whole(r, acc)
	case looksLikeEvents(start), len(start) > 0 && isEventStream(x.res.Header.Get("Content-Type")):
		return x.events(r, acc)
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

// whole reads an answer that is one JSON value.
func (x *exchange) whole(r *reading, acc *accumulator) *llmclient.Error {
	body, failure := r.all()
	switch {
	case failure != nil:
		return x.broken(failure)
	case r.decode(body, noIndex):
		acc.add(&r.answer, true)
	case r.Cut():
		return &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the answer ends in the middle of its JSON"}
	default:
		return notJSON("answer", body)
	}
	if x.client.cfg.KeepRaw {
		r.kept = bytes.Clone(bytes.TrimSpace(body))
	}
	acc.done = true
	if r.answer.hasChoice || acc.err != nil {
		return nil
	}
	wire := readError(body)
	if wire.status != 0 {
		return wire.error(wire.status)
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: strings.TrimSuffix("the answer holds no choice: "+wire.message, ": ")}
}

func notJSON(what string, data []byte) *llmclient.Error {
	return &llmclient.Error{
		Code:    llmclient.CodeBadResponse,
		Message: fmt.Sprintf("the %s is not JSON: %q", what, strings.ToValidUTF8(string(data[:min(len(data), maxQuoted)]), "\ufffd")),
	}
}

// events reads an event stream.
func (x *exchange) events(r *reading, acc *accumulator) *llmclient.Error {
	if x.client.cfg.KeepRaw {
		r.kept = []byte{'['}
		defer func() { r.kept = append(r.kept, ']') }()
	}
	for {
		name, data, failure := r.event()
		switch {
		case errors.Is(failure, io.EOF):
			return nil
		case failure != nil && acc.finish != "" && x.parent.Err() == nil:
			return nil // the reply itself was complete
		case failure != nil:
			return x.broken(failure)
		}
		if end, err := x.event(r, acc, name, bytes.TrimSpace(data)); end || err != nil {
			return err
		}
	}
}

// event adds one event to acc and reports whether it was the last.
func (x *exchange) event(r *reading, acc *accumulator, name, data []byte) (end bool, err *llmclient.Error) {
	switch {
	case len(data) == 0:
		return false, nil
	case string(data) == "[DONE]":
		acc.done = true
		x.drain(r)
		return true, nil
	case string(name) == "error":
		acc.err = bytes.Clone(data)
		return true, nil
	case !r.decode(data, acc.index):
		if r.cutOff && (r.Cut() || strings.HasPrefix("[DONE]", string(data))) {
			return true, nil // the stream ended in the middle of the event
		}
		return true, notJSON("event", data)
	}
	if x.client.cfg.KeepRaw {
		r.kept = append(appendComma(r.kept), data...)
	}
	acc.add(&r.answer, false)
	if len(acc.calls.list) > maxCalls {
		return true, &llmclient.Error{Code: llmclient.CodeBadResponse, Message: fmt.Sprintf("the reply has more than %d tool calls", maxCalls)}
	}
	return acc.err != nil, nil
}
