package anthropic

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

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
	r.x, r.acc, r.event = nil, nil, event{}
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
		wire.BrokenOff(err, acc.partial(), acc.message(acc.blocks), acc.broken())
		return nil, x.Clean(err)
	}
	resp.Raw = x.Raw()
	return resp, nil
}

// Whole reads an answer that is one JSON value.
func (r *reading) Whole(body []byte) *llmclient.Error {
	acc := r.acc
	switch {
	case r.decode(body):
	case r.Cut():
		return wire.CutInside()
	default:
		return wire.NotJSON("answer", body)
	}
	r.x.KeepWhole(body)
	if r.event.err == nil && r.event.content == nil {
		said := wire.ReadError(body)
		if said.Status != 0 {
			return said.AsError(said.Status)
		}
		return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: strings.TrimSuffix("the answer holds no message: "+said.Message, ": ")}
	}
	acc.add(&r.event, "message")
	acc.done = true
	if acc.err != nil {
		acc.err = bytes.Clone(body) // with what stands beside the error
	}
	return r.misfit()
}

// Finished reports whether the stop reason has come.
func (r *reading) Finished() bool { return r.acc.stop != "" }

// Event adds one event to the reply and reports whether it was the last.
func (r *reading) Event(name, data []byte) (end bool, err *llmclient.Error) {
	acc := r.acc
	switch {
	case string(data) == "[DONE]": // not Anthropic's, but some servers send it
		acc.done = true
		r.x.Drain(&r.Reader)
		return true, nil
	case string(name) == "error":
		acc.err = bytes.Clone(data)
		return true, nil
	case !r.decode(data):
		if r.CutOff() && (r.Cut() || strings.HasPrefix("[DONE]", string(data))) {
			return true, nil // the stream ended in the middle of the event
		}
		return true, wire.NotJSON("event", data)
	}
	r.x.KeepEvent(data)
	acc.add(&r.event, cmp.Or(string(r.event.kind), string(name)))
	if acc.err != nil {
		acc.err = bytes.Clone(data) // with what stands beside the error
	}
	if acc.done {
		r.x.Drain(&r.Reader)
	}
	return acc.done || acc.err != nil, r.misfit()
}

// misfit returns the error of a reply that no model writes, or nil.
func (r *reading) misfit() *llmclient.Error {
	switch {
	case r.acc.mixed:
		return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: "the stream goes on with a block that has ended"}
	case len(r.acc.blocks) > maxBlocks:
		return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: fmt.Sprintf("the reply has more than %d blocks", maxBlocks)}
	default:
		return nil
	}
}
