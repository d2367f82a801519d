package anthropic

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
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// encoder writes the body of one request. It only appends, except for marks of the cache. The first
// error is kept.
type encoder struct {
	cfg  *Config
	b    []byte
	err  *llmclient.Error
	last int // the end of the last block of the message that can be cached, at its closing brace; 0: none
	done bool
	// marks counts the marks of the cache; short is set once there was one of five minutes.
	marks int
	short bool

	ids   map[string]string // the ids of calls, as they were sent last; nil before the first
	taken map[string]int    // how often an id was sent, with a number or without

	omit omission
	lost map[string]bool // the ids of calls of Anthropic's tools that have no result and get none
}

// encode returns the body of a request for a reply as JSON. It returns a bad_request error that
// names the part that cannot be written.
func (cfg *Config) encode(req *llmclient.Request, model string, stream bool, omit omission) ([]byte, *llmclient.Error) {
	e := cfg.begin(req, model, omit)
	e.limits(req)
	if stream {
		e.b = append(e.b, `,"stream":true`...)
	}
	e.extras("Extras", req.Extras, func(string) bool { return true })
	return e.end()
}

// encodeCount returns the body of a request for the number of tokens. What does not change the
// number is left out, because the API does not take it there.
func (cfg *Config) encodeCount(req *llmclient.Request, model string, omit omission) ([]byte, *llmclient.Error) {
	e := cfg.begin(req, model, omit)
	e.extras("Extras", req.Extras, func(name string) bool { return slices.Contains(replaceable, name) })
	return e.end()
}

// replaceable are the fields that Extras may have instead of the Config.
var replaceable = []string{"thinking", "cache_control", "output_config"}

// begin writes what every request has.
func (cfg *Config) begin(req *llmclient.Request, model string, omit omission) *encoder {
	room := 1<<10 + 128*len(req.Messages) + 512*len(req.Tools) // most bodies are copied at most once while they grow
	e := &encoder{cfg: cfg, b: make([]byte, 0, room), omit: omit, lost: lostCalls(req.Messages)}
	e.b = append(e.b, '{')
	e.text("model", model)
	e.tools(req)
	e.conversation(req.Messages)
	if _, replaced := req.Extras["thinking"]; !replaced {
		e.thinking(cfg.Thinking)
	}
	e.output(req)
	switch own, replaced := req.Extras["cache_control"]; {
	case !replaced:
		e.cache(cfg.Cache)
	case string(own) != "null":
		e.marks++
	}
	return e
}

// maxMarks is how many marks of the cache the API takes in a request.
const maxMarks = 4

func (e *encoder) end() ([]byte, *llmclient.Error) {
	if e.marks > maxMarks {
		e.fail("the request has %d marks of the cache, and the API takes %d: set Cache on fewer messages, parts and tools", e.marks, maxMarks)
	}
	return append(e.b, '}'), e.err
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = &llmclient.Error{Code: llmclient.CodeBadRequest, Message: "anthropic: " + fmt.Sprintf(format, args...)}
	}
}

func (e *encoder) name(name string)       { e.b = wire.AppendName(e.b, name) }
func (e *encoder) text(name, text string) { e.name(name); e.b = jsonform.AppendString(e.b, text) }
func (e *encoder) open(mark byte)         { e.b = append(wire.AppendComma(e.b), mark) }
func (e *encoder) close(mark byte)        { e.b = append(e.b, mark) }

func (e *encoder) number(name string, n int) {
	e.name(name)
	e.b = strconv.AppendInt(e.b, int64(n), 10)
}

// raw writes raw JSON unchanged, if it is valid.
func (e *encoder) raw(name string, raw []byte, what string) {
	if !wire.ValidJSON(raw) || !utf8.Valid(raw) {
		e.fail("%s is not JSON", what)
		return
	}
	e.b = append(wire.AppendKey(e.b, name), raw...)
}

// written are the fields that the client writes itself.
var written = []string{
	"model", "max_tokens", "system", "messages", "tools", "tool_choice", "stop_sequences", "temperature", "stream",
}

// extras writes the wanted fields by name. A field that the client writes is an error.
func (e *encoder) extras(what string, extras messages.Extras, wanted func(string) bool) {
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		if slices.Contains(written, name) {
			e.fail("%s has the field %q, which the client writes itself", what, name)
			return
		}
		if wanted(name) {
			e.raw(name, extras[name], what+" "+strconv.Quote(name))
		}
	}
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
	e.text("name", t.Name)
	if t.Description != "" {
		e.text("description", t.Description)
	}
	e.raw("input_schema", wire.Parameters(t.Parameters), "Parameters of tool "+strconv.Quote(t.Name))
	if t.Strict {
		e.b = append(e.b, `,"strict":true`...)
	}
	e.cache(t.Cache)
	e.close('}')
}

func (e *encoder) toolChoice(choice llmclient.ToolChoice, offered bool) {
	kind := string(choice.Mode)
	switch choice.Mode {
	case "":
		return
	case llmclient.ChooseAuto, llmclient.ChooseNone:
		if !offered {
			return
		}
	case llmclient.ChooseRequired:
		kind = "any"
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
	e.name("tool_choice")
	e.open('{')
	e.text("type", kind)
	if choice.Mode == llmclient.ChooseTool {
		e.text("name", choice.Name)
	}
	e.close('}')
}

func (e *encoder) thinking(t Thinking) {
	if t.Mode == ThinkAuto {
		return
	}
	e.name("thinking")
	e.open('{')
	e.text("type", string(t.Mode))
	if t.Mode == ThinkEnabled {
		e.number("budget_tokens", t.Budget)
	}
	if t.Display != "" {
		e.text("display", t.Display)
	}
	e.close('}')
}

// output writes the effort and the schema of the answer.
func (e *encoder) output(req *llmclient.Request) {
	if _, replaced := req.Extras["output_config"]; replaced {
		if req.Schema != nil {
			e.fail("Extras has the field \"output_config\", and there is a Schema: leave one of them out, and give the effort in Config.Effort")
		}
		return
	}
	if req.Schema == nil && e.cfg.Effort == "" {
		return
	}
	e.name("output_config")
	e.open('{')
	if e.cfg.Effort != "" {
		e.text("effort", e.cfg.Effort)
	}
	if s := req.Schema; s != nil {
		e.name("format")
		e.b = append(e.b, `{"type":"json_schema"`...)
		e.raw("schema", s.Schema, "Schema "+strconv.Quote(s.Name))
		e.close('}')
	}
	e.close('}')
}

func (e *encoder) limits(req *llmclient.Request) {
	limit := e.cfg.MaxTokens
	if req.MaxTokens != 0 {
		limit = req.MaxTokens
	}
	_, replaced := req.Extras["thinking"]
	switch t := e.cfg.Thinking; {
	case limit < 0:
		e.fail("MaxTokens is %d", limit)
	case t.Mode == ThinkEnabled && limit <= t.Budget && !replaced:
		e.fail("MaxTokens is %d, and thoughts may take %d: raise MaxTokens, lower Thinking.Budget, or let the model think adaptively", limit, t.Budget)
	}
	e.number("max_tokens", limit)
	if len(req.Stop) > 0 {
		e.name("stop_sequences")
		e.open('[')
		for _, s := range req.Stop {
			if strings.TrimSpace(s) == "" {
				e.fail("the stop sequence %q is blank, and the API takes no such: leave it out", s)
			}
			e.b = jsonform.AppendString(wire.AppendComma(e.b), s)
		}
		e.close(']')
	}
	if t := req.Temperature; t != nil {
		if math.IsNaN(*t) || math.IsInf(*t, 0) {
			e.fail("Temperature is %v", *t)
			return
		}
		e.name("temperature")
		e.b = strconv.AppendFloat(e.b, *t, 'g', -1, 64)
	}
}
