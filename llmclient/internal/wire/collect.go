package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
)

// Reply is a reply of a model that is built from what the server answers: from a whole answer, or
// from the events of a stream. It has a [Gathered].
type Reply interface {
	// Decode reads a whole answer, or an event, which is not empty. It reports whether it is JSON
	// and, if not, whether it may be the beginning of JSON. The bytes are valid until the next
	// call.
	Decode(data []byte, whole bool) (ok, cut bool)

	// Take takes what was decoded, with the name of the event, and reports whether it was the last.
	// Nothing follows an error.
	Take(name, data []byte, whole bool) (end bool, err *llmclient.Error)

	// Finished reports whether the reply is complete, so that an error of reading on does not
	// count.
	Finished() bool

	// Result returns the reply without its id and its model, or what is wrong with it.
	Result() (*llmclient.Response, *llmclient.Error)

	// Broken returns of a reply that broke off what is kept, what has come, and its usage.
	Broken() (kept, came messages.Assistant, used messages.Usage)

	gathering // a Gathered, which is embedded
}

type gathering interface{ gathered() *Gathered }

var _ gathering = (*Gathered)(nil)

// Gathered is what replies of all providers have.
type Gathered struct {
	OnDelta func(llmclient.Delta)     // may be nil
	OnCall  func(llmclient.CallDelta) // may be nil
	Names   IDs

	ID, Model string
	Err       []byte // an error object received instead of more, raw
	Done      bool   // [DONE], the last event, or the one whole answer has been read
}

// Gather returns what the reply to a request begins with.
func Gather(ctx context.Context, req *llmclient.Request, onDelta func(llmclient.Delta)) Gathered {
	g := Gathered{OnDelta: onDelta, Names: IDs{History: req.Messages}}
	if onDelta != nil {
		g.OnCall = llmclient.CallDeltas(ctx)
	}
	return g
}

func (g *Gathered) gathered() *Gathered { return g }

// Named takes the id of the reply and the name of the model that wrote it. The first ones count.
func (g *Gathered) Named(id, model []byte) {
	if g.ID == "" {
		g.ID = string(id)
	}
	if g.Model == "" {
		g.Model = string(model)
	}
}

// Show passes a piece on to OnDelta, unless that is nil.
func (g *Gathered) Show(kind llmclient.DeltaKind, text string) {
	if g.OnDelta != nil {
		g.OnDelta(llmclient.Delta{Kind: kind, Text: text})
	}
}

// Identified returns a call with an id that none of the calls before it has.
func (g *Gathered) Identified(call messages.ToolCall, before []messages.ToolCall) messages.ToolCall {
	if call.ID == "" || Known(before, call.ID) {
		call.ID = g.Names.Next(before)
	}
	return call
}

// Apart reports whether a text that follows another one needs a blank line before it: neither has a
// blank there.
func Apart(before, text string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(text)
	return !unicode.IsSpace(last) && !unicode.IsSpace(first)
}

// IsCut reports whether the model could not write its reply to the end.
func IsCut(r llmclient.FinishReason) bool {
	return r == llmclient.FinishLength || r == llmclient.FinishContentFilter
}

// maxIdleBuffer is the size of the largest buffer that is kept for the next answer.
const maxIdleBuffer = 256 << 10

var readers = sync.Pool{New: func() any { return &Reader{} }}

// Collect reads the answer in either form and returns its content.
func (x *Exchange) Collect(reply Reply) (*llmclient.Response, *llmclient.Error) {
	r := readers.Get().(*Reader) //nolint:forcetypeassert // nothing else is put in
	r.Reset(x)
	defer func() {
		if r.Reset(nil); cap(r.buf)+cap(r.data) <= maxIdleBuffer {
			readers.Put(r)
		}
	}()
	g := reply.gathered()
	err := (&collecting{g, r, x, reply}).receive()
	var resp *llmclient.Response
	if err == nil {
		resp, err = reply.Result()
	}
	if err != nil {
		kept, came, used := reply.Broken()
		err.Partial, err.Usage = kept, estimated(used, came)
		return nil, x.Clean(err)
	}
	resp.ID, resp.Model, resp.Raw = g.ID, g.Model, x.raw()
	return resp, nil
}

// collecting reads an answer, and gives it to a Reply.
type collecting struct {
	*Gathered
	*Reader
	x     *Exchange
	reply Reply
}

// receive reads the answer. The content decides whether it is whole or an event stream; its type
// counts only where the content says nothing. An error is not clean yet.
func (c *collecting) receive() *llmclient.Error {
	start := c.Start(Sniffed)
	switch mediaType := c.x.res.Header.Get("Content-Type"); {
	case len(start) > 0 && (start[0] == '{' || start[0] == '['):
		body, failure := c.All()
		if failure != nil {
			return c.x.broken(failure)
		}
		return c.whole(unlisted(body))
	case looksLikeEvents(start), len(start) > 0 && strings.HasPrefix(strings.ToLower(mediaType), "text/event-stream"):
		return c.events()
	case c.err != nil && !errors.Is(c.err, io.EOF):
		return c.x.broken(c.err)
	case len(start) == 0:
		return emptyAnswer()
	default:
		return &llmclient.Error{
			Code:    llmclient.CodeBadResponse,
			Message: fmt.Sprintf("the answer is neither JSON nor an event stream, but %q", cmp.Or(plainText(string(start)), mediaType)),
		}
	}
}

func (c *collecting) whole(body []byte) *llmclient.Error {
	switch ok, cut := c.reply.Decode(body, true); {
	case cut:
		return &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the answer ends in the middle of its JSON"}
	case !ok:
		return notJSON("answer", body)
	}
	c.x.keepWhole(body)
	c.Done = true
	_, err := c.reply.Take(nil, body, true)
	return err
}

func (c *collecting) events() *llmclient.Error {
	for {
		name, data, failure := c.Next()
		switch {
		case errors.Is(failure, io.EOF):
			return nil
		case failure != nil && c.reply.Finished() && c.x.parent.Err() == nil:
			return nil // the reply itself was complete
		case failure != nil:
			return c.x.broken(failure)
		}
		if data = unlisted(data); len(data) == 0 {
			continue
		}
		if end, err := c.event(name, data); end || err != nil {
			return err
		}
	}
}

func (c *collecting) event(name, data []byte) (end bool, err *llmclient.Error) {
	switch {
	case string(data) == "[DONE]":
		c.Done = true
		c.x.drain(c.Reader)
		return true, nil
	case string(name) == "error":
		c.Err = bytes.Clone(data)
		return true, nil
	}
	if ok, cut := c.reply.Decode(data, false); !ok {
		if c.cutOff && (cut || strings.HasPrefix("[DONE]", string(data))) {
			return true, nil // the stream ended in the middle of the event
		}
		return true, notJSON("event", data)
	}
	c.x.keepEvent(data)
	if end, err = c.reply.Take(name, data, false); end && c.Err == nil {
		c.x.drain(c.Reader)
	}
	return end || c.Err != nil, err
}

// Decode reads an answer that is one JSON value into v. An error object in it is an error.
func (x *Exchange) Decode(v any) *llmclient.Error {
	body, failure := io.ReadAll(x)
	body = unlisted(body)
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	switch {
	case failure != nil:
		return x.Clean(x.broken(failure))
	case len(body) == 0:
		return x.Clean(emptyAnswer())
	case json.Unmarshal(body, &object) == nil && object.Error != nil && string(object.Error) != "null":
		return x.Clean(ErrorFromJSON(body))
	case json.Unmarshal(body, v) != nil:
		return x.Clean(notJSON("answer", []byte(plainText(string(body)))))
	default:
		return nil
	}
}

func emptyAnswer() *llmclient.Error {
	return &llmclient.Error{Code: llmclient.CodeTruncated, Message: "the answer is empty"}
}

// Lacks returns the error of a whole answer that holds no reply, such as a "choice". What it says
// instead may be an error.
func Lacks(body []byte, what string) *llmclient.Error {
	said := ReadError(body)
	if said.Status != 0 {
		return said.AsError(said.Status)
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: strings.TrimSuffix("the answer holds no "+what+": "+said.Message, ": ")}
}

// TooMany returns an error if a reply has more parts of a kind, such as "tool calls", than a client
// takes.
func TooMany(n, most int, what string) *llmclient.Error {
	if n <= most {
		return nil
	}
	return &llmclient.Error{Code: llmclient.CodeBadResponse, Message: fmt.Sprintf("the reply has more than %d %s", most, what)}
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
