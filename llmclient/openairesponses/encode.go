package openairesponses

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// style is how requests are written: what the config says, and what servers have refused.
type style struct {
	effort, summary string

	plain  bool // the model does not reason: no reasoning is asked for or sent
	forget bool // reasoning that came before is not sent

	refused *wire.Refused // reasoning that is never sent
}

// after returns the style of another request after one that was refused because of its encrypted
// reasoning, and whether there is such a style. Models that do not reason refuse to be asked for it
// and to be sent any; those that do refuse what another server, or another account, has encrypted.
func (s style) after(err *llmclient.Error) (again style, ok bool) {
	if err == nil || err.Status != http.StatusBadRequest {
		return s, false
	}
	again = s
	switch text := strings.ToLower(err.Message); {
	case strings.Contains(text, "encrypted content is not supported"), strings.Contains(text, "reasoning input items can only be provided"):
		again.plain = true
	case err.Type == "invalid_encrypted_content":
		again.forget = true
	}
	return again, again != s
}

// refuseAll remembers all reasoning of a conversation as refused: the server does not say which it
// means.
func (s style) refuseAll(model string, h messages.History) {
	for _, m := range h {
		reply, _ := m.(messages.Assistant)
		for _, c := range reply.Content {
			if t, _ := c.(messages.Thought); t.Extras[extraReasoning] != nil {
				s.refused.Add(model, t.Extras[extraReasoning])
			}
		}
	}
}

// encoder writes the body of one request. It only appends. The first error is kept.
type encoder struct {
	b      []byte
	err    *llmclient.Error
	forget bool // reasoning is not sent

	model   string
	refused *wire.Refused
}

// encode returns the body of a request as JSON. It returns a bad_request error that names the part
// that cannot be written.
func (s style) encode(req *llmclient.Request, model string, stream bool) ([]byte, *llmclient.Error) {
	room := 1<<10 + 128*len(req.Messages) + 512*len(req.Tools) // most bodies are copied at most once while they grow
	e := &encoder{b: make([]byte, 0, room), forget: s.forget || s.plain, model: model, refused: s.refused}
	e.b = append(e.b, '{')
	e.text("model", model)
	e.input(req.Messages)
	e.tools(req)
	e.format(req)
	e.limits(req)
	e.reasoning(s, req.Extras["reasoning"])
	e.b = append(e.b, `,"store":false`...)
	e.include(req.Extras["include"], s.plain)
	if stream {
		e.b = append(e.b, `,"stream":true`...)
	}
	e.bodyExtras(req.Extras)
	e.b = append(e.b, '}')
	return e.b, e.err
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = &llmclient.Error{Code: llmclient.CodeBadRequest, Message: "openairesponses: " + fmt.Sprintf(format, args...)}
	}
}

func (e *encoder) name(name string)       { e.b = wire.AppendName(e.b, name) }
func (e *encoder) text(name, text string) { e.name(name); e.b = jsonform.AppendString(e.b, text) }
func (e *encoder) open(mark byte)         { e.b = append(wire.AppendComma(e.b), mark) }
func (e *encoder) close(mark byte)        { e.b = append(e.b, mark) }

// json returns whether raw is JSON, and fails if it is not.
func (e *encoder) json(raw []byte, what string) bool {
	if wire.ValidJSON(raw) && utf8.Valid(raw) {
		return true
	}
	e.fail("%s is not JSON", what)
	return false
}

// raw writes raw JSON unchanged, if it is valid.
func (e *encoder) raw(name string, raw []byte, what string) {
	if e.json(raw, what) {
		e.b = append(wire.AppendKey(e.b, name), raw...)
	}
}

// members writes the members of an object. One in known is an error.
func (e *encoder) members(raw []byte, what string, known ...string) {
	if !e.json(raw, what) {
		return
	}
	var c jsonform.Cursor
	c.Begin(raw, wire.MaxDepth)
	if c.Peek() != '{' {
		e.fail("%s is not an object", what)
	}
	for more := c.Open('{'); more; more = c.More('}') {
		name, value := string(c.Name()), c.Raw()
		if slices.Contains(known, name) {
			e.fail("%s has the field %q, which the client writes itself", what, name)
		}
		e.b = append(wire.AppendKey(e.b, name), value...)
	}
}

// joinedExtras are the fields of Request.Extras that are joined with what the client writes.
func joinedExtras() []string { return []string{"tools", "text", "reasoning", "include"} }

// bodyExtras writes the extras of a request that nothing else has written.
func (e *encoder) bodyExtras(extras messages.Extras) {
	known := []string{"model", "input", "store", "stream", "temperature", "max_output_tokens", "tool_choice"}
	stateful := []string{"previous_response_id", "conversation", "background"}
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		switch {
		case slices.Contains(joinedExtras(), name):
		case slices.Contains(known, name):
			e.fail("Extras has the field %q, which the client writes itself", name)
		case slices.Contains(stateful, name):
			e.fail("Extras has the field %q, but the server keeps nothing: each request has the whole conversation", name)
		default:
			e.raw(name, extras[name], "Extras "+strconv.Quote(name))
		}
	}
}

// tools writes the tools and the tool choice: first those of the request, which are not sent if
// they are described in the text, and then those in Extras, which the provider runs.
func (e *encoder) tools(req *llmclient.Request) {
	own := req.Tools
	switch req.ToolFormat {
	case "", llmclient.ToolsNative:
	case llmclient.ToolsText:
		own = nil
	default:
		e.fail("unknown ToolFormat %q", req.ToolFormat)
	}
	hosted := e.elements(req.Extras["tools"], `Extras "tools"`)
	offered := len(own)+len(hosted) > 0
	if offered {
		e.name("tools")
		e.open('[')
		for i := range own {
			e.tool(&own[i])
		}
		for _, raw := range hosted {
			e.b = append(wire.AppendComma(e.b), raw...)
		}
		e.close(']')
	}
	if req.ToolFormat != llmclient.ToolsText {
		e.toolChoice(req.ToolChoice, offered)
	}
}

// elements returns the elements of a list of JSON; none if it is missing.
func (e *encoder) elements(raw []byte, what string) (list []json.RawMessage) {
	if raw == nil || !e.json(raw, what) {
		return nil
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		e.fail("%s is not a list", what)
	}
	return list
}

// tool writes the definition of a tool. Without strict the API would hold a model to the schema.
func (e *encoder) tool(t *tools.Definition) {
	if t.Cache != messages.CacheNone {
		e.fail("tool %q: the Responses API takes no Cache of a tool: set that of the first message", t.Name)
	}
	e.open('{')
	e.text("type", "function")
	e.text("name", t.Name)
	if t.Description != "" {
		e.text("description", t.Description)
	}
	e.raw("parameters", wire.Parameters(t.Parameters), "Parameters of tool "+strconv.Quote(t.Name))
	e.name("strict")
	e.b = strconv.AppendBool(e.b, t.Strict)
	e.close('}')
}

func (e *encoder) toolChoice(choice llmclient.ToolChoice, offered bool) {
	switch choice.Mode {
	case "":
		return
	case llmclient.ChooseAuto, llmclient.ChooseNone:
		if !offered {
			return
		}
	case llmclient.ChooseRequired:
	case llmclient.ChooseTool:
		if choice.Name == "" {
			e.fail("ToolChoice %q has no Name", choice.Mode)
		}
	default:
		e.fail("unknown ToolChoice %q", choice.Mode)
	}
	if !offered {
		e.fail("ToolChoice %q, but no tool is offered", choice.Mode)
	}
	if choice.Mode != llmclient.ChooseTool {
		e.text("tool_choice", string(choice.Mode))
		return
	}
	e.b = append(e.b, `,"tool_choice":{"type":"function"`...)
	e.text("name", choice.Name)
	e.close('}')
}

// format writes the schema of the answer, beside the other settings of the text in Extras.
func (e *encoder) format(req *llmclient.Request) {
	more, s := req.Extras["text"], req.Schema
	if s == nil && more == nil {
		return
	}
	e.name("text")
	e.open('{')
	if s != nil {
		e.b = append(e.b, `"format":{"type":"json_schema"`...)
		e.text("name", s.Name)
		e.raw("schema", s.Schema, "Schema "+strconv.Quote(s.Name))
		e.name("strict")
		e.b = strconv.AppendBool(e.b, s.Strict)
		e.close('}')
	}
	switch {
	case more == nil:
	case s == nil:
		e.members(more, `Extras "text"`)
	default:
		e.members(more, `Extras "text"`, "format")
	}
	e.close('}')
}

func (e *encoder) limits(req *llmclient.Request) {
	if len(req.Stop) > 0 {
		e.fail("the Responses API takes no stop sequences: leave Request.Stop empty, or ask with openaichat; " +
			"the strategy react and some text formats need them")
	}
	if t := req.Temperature; t != nil {
		if math.IsNaN(*t) || math.IsInf(*t, 0) {
			e.fail("Temperature is %v", *t)
		}
		e.name("temperature")
		e.b = strconv.AppendFloat(e.b, *t, 'g', -1, 64)
	}
	switch {
	case req.MaxTokens < 0:
		e.fail("MaxTokens is %d", req.MaxTokens)
	case req.MaxTokens > 0:
		e.name("max_output_tokens")
		e.b = strconv.AppendInt(e.b, int64(req.MaxTokens), 10)
	}
}

// reasoning writes the settings of the reasoning: those of the request, or else of the config.
func (e *encoder) reasoning(s style, own []byte) {
	if own != nil {
		e.raw("reasoning", own, `Extras "reasoning"`)
		return
	}
	if s.effort == "" && s.summary == "" {
		return
	}
	e.name("reasoning")
	e.open('{')
	if s.effort != "" {
		e.text("effort", s.effort)
	}
	if s.summary != "" {
		e.text("summary", s.summary)
	}
	e.close('}')
}

// encrypted asks for the reasoning in a form that can be sent back to a server that keeps nothing.
const encrypted = "reasoning.encrypted_content"

// include writes what the answer is to include: the reasoning, unless the model has none, and more.
func (e *encoder) include(more []byte, plain bool) {
	var list []string
	if !plain {
		list = append(list, strconv.Quote(encrypted))
	}
	for _, raw := range e.elements(more, `Extras "include"`) {
		if string(raw) != strconv.Quote(encrypted) {
			list = append(list, string(raw))
		}
	}
	if len(list) > 0 {
		e.name("include")
		e.b = append(append(append(e.b, '['), strings.Join(list, ",")...), ']')
	}
}
