package openaichat

import (
	"strconv"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/tools"
)

// encoder writes the body of one request.
type encoder struct {
	dialect
	wire.Body
}

// encode returns the body of a request as JSON. It returns a bad_request error that names the part
// that cannot be written.
func (d dialect) encode(req *llmclient.Request, model string, stream bool) ([]byte, *llmclient.Error) {
	e := &encoder{dialect: d, Body: wire.NewBody("openaichat", req, model)}
	e.messages(req.Messages)
	e.tools(req)
	e.schema(req.Schema)
	e.Stops("stop", req.Stop)
	e.Temperature(req.Temperature)
	e.Limit(string(e.tokenField), req.MaxTokens)
	if stream {
		e.B = append(e.B, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	e.bodyExtras(req)
	return e.End()
}

// bodyExtras writes the extras of a request. They may contain forms of response_format other than a
// schema.
func (e *encoder) bodyExtras(req *llmclient.Request) {
	own := []string{
		"model", "messages", "tools", "tool_choice", "stop", "temperature", "max_tokens", "max_completion_tokens",
		"stream", "stream_options", "response_format",
	}
	if req.Schema == nil {
		own = own[:len(own)-1]
	}
	if _, own := req.Extras["reasoning_effort"]; e.effort != "" && !own {
		e.Text("reasoning_effort", e.effort)
	}
	e.Extras("Extras", req.Extras, nil, own...)
}

// tools writes the tools and the tool choice. Tools of the text format, and a choice without tools,
// are not sent.
func (e *encoder) tools(req *llmclient.Request) {
	offered := e.Offered(req)
	e.List("tools", len(offered), func(i int) { e.tool(&offered[i]) })
	choice := req.ToolChoice
	switch {
	case !e.Chooses(req, len(offered) > 0):
	case choice.Mode != llmclient.ChooseTool:
		e.Text("tool_choice", string(choice.Mode))
	default:
		e.B = append(e.B, `,"tool_choice":{"type":"function","function":{`...)
		e.Text("name", choice.Name)
		e.B = append(e.B, '}', '}')
	}
}

func (e *encoder) tool(t *tools.Definition) {
	e.Open('{')
	e.Text("type", "function")
	e.Name("function")
	e.Open('{')
	e.Tool(t, "parameters")
	if t.Strict {
		e.takes(strictTools, place{tool: t.Name})
		e.Flag("strict", true)
	}
	e.Close('}')
	e.cache(place{tool: t.Name}, t.Cache)
	e.Close('}')
}

func (e *encoder) schema(s *llmclient.Schema) {
	if s == nil {
		return
	}
	e.takes(schemas, place{schema: s.Name})
	e.B = append(e.B, `,"response_format":{"type":"json_schema","json_schema":{`...)
	e.Text("name", s.Name)
	e.Raw("schema", s.Schema, "Schema "+strconv.Quote(s.Name))
	if s.Strict {
		e.Flag("strict", true)
	}
	e.B = append(e.B, '}', '}')
}
