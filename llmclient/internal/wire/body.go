package wire

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Body is the body of a request, a JSON object that is being written. The first error counts.
type Body struct {
	B []byte

	client string // its package, named by errors
	err    *llmclient.Error
}

// NewBody begins the body of a request to a model.
func NewBody(client string, req *llmclient.Request, model string) Body {
	room := 1<<10 + 128*len(req.Messages) + 512*len(req.Tools) // most bodies are copied at most once while they grow
	b := Body{B: append(make([]byte, 0, room), '{'), client: client}
	b.Text("model", model)
	return b
}

// End returns the body, or a bad_request error that names the part that cannot be written.
func (b *Body) End() ([]byte, *llmclient.Error) { return append(b.B, '}'), b.err }

// Fail notes why the request cannot be written.
func (b *Body) Fail(format string, args ...any) {
	if b.err == nil {
		b.err = &llmclient.Error{Code: llmclient.CodeBadRequest, Message: b.client + ": " + fmt.Sprintf(format, args...)}
	}
}

// Name writes the name of a member, which needs no escapes.
func (b *Body) Name(name string) { b.B = AppendName(b.B, name) }

// Text writes a member that is a string.
func (b *Body) Text(name, text string) { b.Name(name); b.B = jsonform.AppendString(b.B, text) }

// Number writes a member that is a number.
func (b *Body) Number(name string, n int) { b.Name(name); b.B = strconv.AppendInt(b.B, int64(n), 10) }

// Flag writes a member that is true or false.
func (b *Body) Flag(name string, on bool) { b.Name(name); b.B = strconv.AppendBool(b.B, on) }

// Open begins an object or a list.
func (b *Body) Open(mark byte) { b.B = append(AppendComma(b.B), mark) }

// Close ends an object or a list.
func (b *Body) Close(mark byte) { b.B = append(b.B, mark) }

// List writes a member that is a list of n elements, each of them written by a call of element.
// With none it writes nothing.
func (b *Body) List(name string, n int, element func(i int)) {
	if n == 0 {
		return
	}
	b.Name(name)
	b.Open('[')
	for i := range n {
		element(i)
	}
	b.Close(']')
}

// Element writes raw JSON as an element of a list, unchanged.
func (b *Body) Element(raw []byte) { b.B = append(AppendComma(b.B), raw...) }

// IsJSON reports whether raw can be written, and fails if it cannot.
func (b *Body) IsJSON(raw []byte, what string) bool {
	if ValidJSON(raw) && utf8.Valid(raw) {
		return true
	}
	b.Fail("%s is not JSON", what)
	return false
}

// Raw writes a member as raw JSON, unchanged, if it is valid. The name may need escapes.
func (b *Body) Raw(name string, raw []byte, what string) {
	if b.IsJSON(raw, what) {
		b.B = append(AppendKey(b.B, name), raw...)
	}
}

// Extras writes those extras that are sent, nil: all, in the order of their names. One that the
// client writes itself is an error.
func (b *Body) Extras(what string, extras messages.Extras, sent func(name string) bool, own ...string) {
	if len(extras) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		switch {
		case slices.Contains(own, name):
			b.Fail("%s has the field %q, which the client writes itself", what, name)
			return
		case sent == nil || sent(name):
			b.Raw(name, extras[name], what+" "+strconv.Quote(name))
		}
	}
}

// Offered returns the tools that are sent: none if they are described in the text.
func (b *Body) Offered(req *llmclient.Request) []tools.Definition {
	switch req.ToolFormat {
	case "", llmclient.ToolsNative:
		return req.Tools
	case llmclient.ToolsText:
		return nil
	default:
		b.Fail("unknown ToolFormat %q", req.ToolFormat)
		return nil
	}
}

// Tool writes the name, the description and the schema of a tool.
func (b *Body) Tool(t *tools.Definition, schema string) {
	b.Text("name", t.Name)
	if t.Description != "" {
		b.Text("description", t.Description)
	}
	b.Raw(schema, Parameters(t.Parameters), "Parameters of tool "+strconv.Quote(t.Name))
}

// Chooses reports whether a request says which tool is to be called, as far as tools are offered,
// and fails if that makes no sense.
func (b *Body) Chooses(req *llmclient.Request, offered bool) bool {
	choice := req.ToolChoice
	if choice.Mode == "" || req.ToolFormat == llmclient.ToolsText {
		return false
	}
	switch choice.Mode {
	case llmclient.ChooseAuto, llmclient.ChooseNone:
		return offered
	case llmclient.ChooseRequired:
	case llmclient.ChooseTool:
		if choice.Name == "" {
			b.Fail("ToolChoice %q has no Name", choice.Mode)
		}
	default:
		b.Fail("unknown ToolChoice %q", choice.Mode)
	}
	if !offered {
		b.Fail("ToolChoice %q, but no tool is offered", choice.Mode)
	}
	return true
}

// Stops writes sequences at which the model stops, if there are any.
func (b *Body) Stops(name string, list []string) {
	b.List(name, len(list), func(i int) { b.B = jsonform.AppendString(AppendComma(b.B), list[i]) })
}

// Limit writes the most tokens that a reply may have; 0: no limit.
func (b *Body) Limit(name string, most int) {
	switch {
	case most < 0:
		b.Fail("MaxTokens is %d", most)
	case most > 0:
		b.Number(name, most)
	}
}

// Temperature writes the temperature, if there is one.
func (b *Body) Temperature(t *float64) {
	switch {
	case t == nil:
	case math.IsNaN(*t) || math.IsInf(*t, 0):
		b.Fail("Temperature is %v", *t)
	default:
		b.Name("temperature")
		b.B = strconv.AppendFloat(b.B, *t, 'g', -1, 64)
	}
}

// FileName returns the name of a document. OpenAI wants one beside the bytes.
func FileName(f messages.File) string {
	const pdf = "application/pdf"
	switch {
	case f.Name != "":
		return f.Name
	case f.MediaType == pdf, strings.HasPrefix(f.URL, "data:"+pdf):
		return "document.pdf"
	default:
		return "document"
	}
}

// CacheMark returns the member that marks what is cached, as Anthropic and those that follow it
// have it, with the comma before it; false if the value is unknown.
func CacheMark(c messages.Cache) (mark string, known bool) {
	switch c {
	case messages.CacheNone:
		return "", true
	case messages.Cache5m:
		return `,"cache_control":{"type":"ephemeral"}`, true
	case messages.Cache1h:
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`, true
	default:
		return "", false
	}
}
