package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/tools"
)

// encoder writes the body of one request.
type encoder struct {
	wire.Body
	cfg  *Config
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
		e.Flag("stream", true)
	}
	e.Extras("Extras", req.Extras, nil, written...)
	return e.end()
}

// encodeCount returns the body of a request for the number of tokens. What does not change the
// number is left out, because the API does not take it there.
func (cfg *Config) encodeCount(req *llmclient.Request, model string, omit omission) ([]byte, *llmclient.Error) {
	e := cfg.begin(req, model, omit)
	e.Extras("Extras", req.Extras, func(name string) bool { return slices.Contains(replaceable, name) }, written...)
	return e.end()
}

// replaceable are the fields that Extras may have instead of the Config.
var replaceable = []string{"thinking", "cache_control", "output_config"}

// begin writes what every request has.
func (cfg *Config) begin(req *llmclient.Request, model string, omit omission) *encoder {
	e := &encoder{Body: wire.NewBody("anthropic", req, model), cfg: cfg, omit: omit, lost: lostCalls(req.Messages)}
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
		e.Fail("the request has %d marks of the cache, and the API takes %d: set Cache on fewer messages, parts and tools", e.marks, maxMarks)
	}
	return e.End()
}

// written are the fields that the client writes itself.
var written = []string{
	"model", "max_tokens", "system", "messages", "tools", "tool_choice", "stop_sequences", "temperature", "stream",
}

// tools writes the tools and the tool choice. Tools of the text format, and a choice without tools,
// are not sent.
func (e *encoder) tools(req *llmclient.Request) {
	offered := e.Offered(req)
	e.List("tools", len(offered), func(i int) { e.tool(&offered[i]) })
	if !e.Chooses(req, len(offered) > 0) {
		return
	}
	choice := req.ToolChoice
	e.Name("tool_choice")
	e.Open('{')
	switch choice.Mode {
	case llmclient.ChooseRequired:
		e.Text("type", "any")
	case llmclient.ChooseTool:
		e.Text("type", string(choice.Mode))
		e.Text("name", choice.Name)
	default:
		e.Text("type", string(choice.Mode))
	}
	e.Close('}')
}

func (e *encoder) tool(t *tools.Definition) {
	e.Open('{')
	e.Tool(t, "input_schema")
	if t.Strict {
		e.Flag("strict", true)
	}
	e.cache(t.Cache)
	e.Close('}')
}

func (e *encoder) thinking(t Thinking) {
	if t.Mode == ThinkAuto {
		return
	}
	e.Name("thinking")
	e.Open('{')
	e.Text("type", string(t.Mode))
	if t.Mode == ThinkEnabled {
		e.Number("budget_tokens", t.Budget)
	}
	if t.Display != "" {
		e.Text("display", t.Display)
	}
	e.Close('}')
}

// output writes the effort and the schema of the answer.
func (e *encoder) output(req *llmclient.Request) {
	if _, replaced := req.Extras["output_config"]; replaced {
		if req.Schema != nil {
			e.Fail("Extras has the field \"output_config\", and there is a Schema: leave one of them out, and give the effort in Config.Effort")
		}
		return
	}
	if req.Schema == nil && e.cfg.Effort == "" {
		return
	}
	e.Name("output_config")
	e.Open('{')
	if e.cfg.Effort != "" {
		e.Text("effort", e.cfg.Effort)
	}
	if s := req.Schema; s != nil {
		e.Name("format")
		e.B = append(e.B, `{"type":"json_schema"`...)
		e.Raw("schema", s.Schema, "Schema "+strconv.Quote(s.Name))
		e.Close('}')
	}
	e.Close('}')
}

func (e *encoder) limits(req *llmclient.Request) {
	limit := e.cfg.MaxTokens
	if req.MaxTokens != 0 {
		limit = req.MaxTokens
	}
	_, replaced := req.Extras["thinking"]
	switch t := e.cfg.Thinking; {
	case limit < 0:
		e.Fail("MaxTokens is %d", limit)
	case t.Mode == ThinkEnabled && limit <= t.Budget && !replaced:
		e.Fail("MaxTokens is %d, and thoughts may take %d: raise MaxTokens, lower Thinking.Budget, or let the model think adaptively", limit, t.Budget)
	}
	e.Number("max_tokens", limit)
	for _, s := range req.Stop {
		if strings.TrimSpace(s) == "" {
			e.Fail("the stop sequence %q is blank, and the API takes no such: leave it out", s)
		}
	}
	e.Stops("stop_sequences", req.Stop)
	e.Temperature(req.Temperature)
}
