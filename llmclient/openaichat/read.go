package openaichat

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
)

// maxIdleBuffer is the size of the largest buffer that is kept for the next answer.
const maxIdleBuffer = 256 << 10

// reading reads one answer. Its buffers are used again.
type reading struct {
	wire.Reader
	decoder
	x   *wire.Exchange
	acc *accumulator
}

var _ wire.Answer = (*reading)(nil)

func (c *Client) reading(x *wire.Exchange, acc *accumulator) *reading {
	r, ok := c.readings.Get().(*reading)
	if !ok {
		r = &reading{}
	}
	r.x, r.acc = x, acc
	r.Reset(x)
	return r
}

func (c *Client) release(r *reading) {
	r.x, r.acc = nil, nil
	r.Reset(nil)
	if r.Room()+r.Kept() <= maxIdleBuffer {
		c.readings.Put(r)
	}
}

// read reads the answer in either form and returns its content.
func (c *Client) read(x *wire.Exchange, acc *accumulator) (*llmclient.Response, *llmclient.Error) {
	r := c.reading(x, acc)
	defer c.release(r)
	err := x.Receive(&r.Reader, r)
	var resp *llmclient.Response
	if err == nil {
		resp, err = acc.result()
	}
	if err != nil {
		wire.BrokenOff(err, acc.message(true), acc.message(false), acc.tokens())
		return nil, x.Clean(err)
	}
	resp.Raw = x.Raw()
	return resp, nil
}

// Whole reads an answer that is one JSON value.
func (r *reading) Whole(body []byte) *llmclient.Error {
	acc := r.acc
	switch {
	case r.decode(body, noIndex):
		acc.add(&r.answer, true)
	case r.Cut():
		return wire.CutInside()
	default:
		return wire.NotJSON("answer", body)
	}
	r.x.KeepWhole(body)
	acc.done = true
	if r.answer.hasChoice || acc.err != nil {
		return nil
	}
	said := wire.ReadError(body)
	if said.Status != 0 {
		return said.AsError(said.Status)
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: strings.TrimSuffix("the answer holds no choice: "+said.Message, ": ")}
}

// Finished reports whether the finish reason has come.
func (r *reading) Finished() bool { return r.acc.finish != "" }

// Event adds one event to the reply and reports whether it was the last.
func (r *reading) Event(name, data []byte) (end bool, err *llmclient.Error) {
	acc := r.acc
	switch {
	case string(data) == "[DONE]":
		acc.done = true
		r.x.Drain(&r.Reader)
		return true, nil
	case string(name) == "error":
		acc.err = bytes.Clone(data)
		return true, nil
	case !r.decode(data, acc.index):
		if r.CutOff() && (r.Cut() || strings.HasPrefix("[DONE]", string(data))) {
			return true, nil // the stream ended in the middle of the event
		}
		return true, wire.NotJSON("event", data)
	}
	r.x.KeepEvent(data)
	acc.add(&r.answer, false)
	if !r.answer.hasChoice && (acc.err != nil || saysError(data)) {
		acc.err = bytes.Clone(data) // with what stands beside the error
	}
	if len(acc.calls.list) > maxCalls {
		return true, &llmclient.Error{Code: llmclient.CodeBadResponse, Message: fmt.Sprintf("the reply has more than %d tool calls", maxCalls)}
	}
	return acc.err != nil, nil
}

// saysError reports whether an event without choices is an error in a form without "error": vLLM
// and SGLang mark the object itself, FastAPI has "detail", Cloudflare has "errors".
func saysError(data []byte) bool {
	if len(jsonform.Member(data, "choices")) > 0 {
		return false
	}
	for _, name := range [...]string{"object", "type"} {
		if string(jsonform.Member(data, name)) == `"error"` {
			return true
		}
	}
	for _, name := range [...]string{"detail", "errors"} {
		switch string(jsonform.Member(data, name)) {
		case "", "null", "[]", "{}", `""`:
		default:
			return true
		}
	}
	return false
}
