package openairesponses

import (
	"bytes"
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
		wire.BrokenOff(err, acc.message(true), acc.message(false), acc.usage)
		return nil, x.Clean(err)
	}
	resp.Raw = x.Raw()
	return resp, nil
}

// Whole reads an answer that is one response.
func (r *reading) Whole(body []byte) *llmclient.Error {
	ans, ok, cut := readAnswer(body)
	switch {
	case cut:
		return wire.CutInside()
	case !ok:
		return wire.NotJSON("answer", body)
	}
	r.x.KeepWhole(body)
	if ans.hasOutput || len(ans.status) > 0 || ans.err != nil {
		r.acc.end(&ans, "")
		return r.acc.tooMany()
	}
	said := wire.ReadError(body)
	if said.Status != 0 {
		return refined(said.AsError(said.Status))
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: strings.TrimSuffix("the answer holds no output: "+said.Message, ": ")}
}

// Finished reports whether the last event of the response has come.
func (r *reading) Finished() bool { return r.acc.ended }

// Event adds one event to the reply and reports whether it was the last.
func (r *reading) Event(name, data []byte) (end bool, err *llmclient.Error) {
	acc := r.acc
	if string(data) == "[DONE]" {
		acc.done = true
		r.x.Drain(&r.Reader)
		return true, nil
	}
	switch ok := r.decode(data); {
	case ok:
	case string(name) == "error":
		acc.err = bytes.Clone(data)
		return true, nil
	case r.CutOff() && (r.Cut() || strings.HasPrefix("[DONE]", string(data))):
		return true, nil // the stream ended in the middle of the event
	default:
		return true, wire.NotJSON("event", data)
	}
	r.x.KeepEvent(data)
	if len(r.event.kind) == 0 {
		r.event.kind = name
	}
	acc.add(&r.event, data)
	if err := acc.tooMany(); err != nil {
		return true, err
	}
	if acc.ended {
		r.x.Drain(&r.Reader)
	}
	return acc.ended || acc.err != nil, nil
}
