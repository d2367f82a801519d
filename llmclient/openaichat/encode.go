package openaichat

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/segue-go/segue/internal/jsonform"
	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// encoder writes the body of one request. It only appends. The first error is kept.
type encoder struct {
	dialect
	b   []byte
	err *llmclient.Error
}

// encode returns the body of a request as JSON. It returns a bad_request error that names the part
// that cannot be written.
func (d dialect) encode(req *llmclient.Request, model string, stream bool) ([]byte, *llmclient.Error) {
	room := 1<<10 + 128*len(req.Messages) + 512*len(req.Tools) // most bodies are copied at most once while they grow
	e := &encoder{dialect: d, b: make([]byte, 0, room)}
	e.b = append(e.b, '{')
	e.text("model", model)
	e.messages(req.Messages)
	e.tools(req)
	e.schema(req.Schema)
	e.limits(req)
	if stream {
		e.b = append(e.b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	e.bodyExtras(req)
	e.b = append(e.b, '}')
	return e.b, e.err
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = &llmclient.Error{Code: llmclient.CodeBadRequest, Message: "openaichat: " + fmt.Sprintf(format, args...)}
	}
}

func (e *encoder) name(name string)       { e.b = appendName(e.b, name) }
func (e *encoder) text(name, text string) { e.name(name); e.b = jsonform.AppendString(e.b, text) }
func (e *encoder) open(mark byte)         { e.b = append(appendComma(e.b), mark) }
func (e *encoder) close(mark byte)        { e.b = append(e.b, mark) }

// raw writes raw JSON unchanged, if it is valid.
func (e *encoder) raw(name string, raw []byte, what string) {
	if !validJSON(raw) || !utf8.Valid(raw) {
		e.fail("%s is not JSON", what)
		return
	}
	e.b = append(appendKey(e.b, name), raw...)
}

// extras writes fields by name. A field in known is an error.
func (e *encoder) extras(what string, extras messages.Extras, known ...string) {
	if len(extras) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		if slices.Contains(known, name) {
			e.fail("%s has the field %q, which the client writes itself", what, name)
			return
		}
		e.raw(name, extras[name], what+" "+strconv.Quote(name))
	}
}

// bodyExtras writes the extras of a request. They may contain forms of response_format other than a
// schema.
func (e *encoder) bodyExtras(req *llmclient.Request) {
	known := []string{
		"model", "messages", "tools", "tool_choice", "stop", "temperature", "max_tokens", "max_completion_tokens",
		"stream", "stream_options", "response_format",
	}
	if req.Schema == nil {
		known = known[:len(known)-1]
	}
	if _, own := req.Extras["reasoning_effort"]; e.effort != "" && !own {
		e.text("reasoning_effort", e.effort)
	}
	e.extras("Extras", req.Extras, known...)
}

// tools writes the tools and the tool choice. Tools of the text format, and a choice without tools,
// are not sent.
func (e *encoder) tools(req *llmclient.Request) {
	switch req.ToolFormat {
	case "", llmclient.ToolsNative:
	case llmclient.ToolsText:
		return
	default:
		e.fail("unknown ToolFormat %q", req.ToolFormat)
	}
	if len(req.Tools) > 0 {
		e.name("tools")
		e.open('[')
		for i := range req.Tools {
			e.tool(&req.Tools[i])
		}
		e.close(']')
	}
	e.toolChoice(req.ToolChoice, len(req.Tools) > 0)
}

func (e *encoder) tool(t *tools.Definition) {
	e.open('{')
	e.text("type", "function")
	e.name("function")
	e.open('{')
	e.text("name", t.Name)
	if t.Description != "" {
		e.text("description", t.Description)
	}
	e.raw("parameters", wire.Parameters(t.Parameters), "Parameters of tool "+strconv.Quote(t.Name))
	if t.Strict {
		e.takes(strictTools, place{tool: t.Name})
		e.b = append(e.b, `,"strict":true`...)
	}
	e.close('}')
	e.cache(place{tool: t.Name}, t.Cache)
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
	e.b = append(e.b, `,"tool_choice":{"type":"function","function":{`...)
	e.text("name", choice.Name)
	e.b = append(e.b, '}', '}')
}

func (e *encoder) schema(s *llmclient.Schema) {
	if s == nil {
		return
	}
	e.takes(schemas, place{schema: s.Name})
	e.b = append(e.b, `,"response_format":{"type":"json_schema","json_schema":{`...)
	e.text("name", s.Name)
	e.raw("schema", s.Schema, "Schema "+strconv.Quote(s.Name))
	if s.Strict {
		e.b = append(e.b, `,"strict":true`...)
	}
	e.b = append(e.b, '}', '}')
}

func (e *encoder) limits(req *llmclient.Request) {
	if len(req.Stop) > 0 {
		e.name("stop")
		e.open('[')
		for _, s := range req.Stop {
			e.b = jsonform.AppendString(appendComma(e.b), s)
		}
		e.close(']')
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
		e.name(string(e.tokenField))
		e.b = strconv.AppendInt(e.b, int64(req.MaxTokens), 10)
	}
}
