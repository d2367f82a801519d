package openairesponses

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

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

// encoder writes the body of one request.
type encoder struct {
	wire.Body
	forget bool // reasoning is not sent

	model   string
	refused *wire.Refused
}

// encode returns the body of a request as JSON. It returns a bad_request error that names the part
// that cannot be written.
func (s style) encode(req *llmclient.Request, model string, stream bool) ([]byte, *llmclient.Error) {
	e := &encoder{Body: wire.NewBody("openairesponses", req, model), forget: s.forget || s.plain, model: model, refused: s.refused}
	e.input(req.Messages)
	e.tools(req)
	e.format(req)
	if len(req.Stop) > 0 {
		e.Fail("the Responses API takes no stop sequences: leave Request.Stop empty, or ask with openaichat; " +
			"the strategy react and some text formats need them")
	}
	e.Temperature(req.Temperature)
	e.Limit("max_output_tokens", req.MaxTokens)
	e.reasoning(s, req.Extras["reasoning"])
	e.Flag("store", false)
	e.include(req.Extras["include"], s.plain)
	if stream {
		e.Flag("stream", true)
	}
	e.bodyExtras(req.Extras)
	return e.End()
}

// members writes the members of an object. One in known is an error.
func (e *encoder) members(raw []byte, what string, known ...string) {
	if !e.IsJSON(raw, what) {
		return
	}
	var c wire.Cursor
	c.Begin(raw)
	if c.Peek() != '{' {
		e.Fail("%s is not an object", what)
	}
	for more := c.Open('{'); more; more = c.More('}') {
		name, value := string(c.Name()), c.Raw()
		if slices.Contains(known, name) {
			e.Fail("%s has the field %q, which the client writes itself", what, name)
		}
		e.B = append(wire.AppendKey(e.B, name), value...)
	}
}

// joinedExtras are the fields of Request.Extras that are joined with what the client writes.
func joinedExtras() []string { return []string{"tools", "text", "reasoning", "include"} }

// bodyExtras writes the extras of a request that nothing else has written.
func (e *encoder) bodyExtras(extras messages.Extras) {
	e.Extras("Extras", extras, func(name string) bool {
		stateful := slices.Contains([]string{"previous_response_id", "conversation", "background"}, name)
		if stateful {
			e.Fail("Extras has the field %q, but the server keeps nothing: each request has the whole conversation", name)
		}
		return !stateful && !slices.Contains(joinedExtras(), name)
	}, "model", "input", "store", "stream", "temperature", "max_output_tokens", "tool_choice")
}

// tools writes the tools and the tool choice: first those of the request, which are not sent if
// they are described in the text, and then those in Extras, which the provider runs.
func (e *encoder) tools(req *llmclient.Request) {
	own, hosted := e.Offered(req), e.elements(req.Extras["tools"], `Extras "tools"`)
	offered := len(own) + len(hosted)
	e.List("tools", offered, func(i int) {
		if i < len(own) {
			e.tool(&own[i])
			return
		}
		e.Element(hosted[i-len(own)])
	})
	choice := req.ToolChoice
	switch {
	case !e.Chooses(req, offered > 0):
	case choice.Mode != llmclient.ChooseTool:
		e.Text("tool_choice", string(choice.Mode))
	default:
		e.B = append(e.B, `,"tool_choice":{"type":"function"`...)
		e.Text("name", choice.Name)
		e.Close('}')
	}
}

// elements returns the elements of a list of JSON; none if it is missing.
func (e *encoder) elements(raw []byte, what string) (list []json.RawMessage) {
	if raw == nil || !e.IsJSON(raw, what) {
		return nil
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		e.Fail("%s is not a list", what)
	}
	return list
}

// tool writes the definition of a tool. Without strict the API would hold a model to the schema.
func (e *encoder) tool(t *tools.Definition) {
	if t.Cache != messages.CacheNone {
		e.Fail("tool %q: the Responses API takes no Cache of a tool: set that of the first message", t.Name)
	}
	e.Open('{')
	e.Text("type", "function")
	e.Tool(t, "parameters")
	e.Flag("strict", t.Strict)
	e.Close('}')
}

// format writes the schema of the answer, beside the other settings of the text in Extras.
func (e *encoder) format(req *llmclient.Request) {
	more, s := req.Extras["text"], req.Schema
	if s == nil && more == nil {
		return
	}
	e.Name("text")
	e.Open('{')
	if s != nil {
		e.B = append(e.B, `"format":{"type":"json_schema"`...)
		e.Text("name", s.Name)
		e.Raw("schema", s.Schema, "Schema "+strconv.Quote(s.Name))
		e.Flag("strict", s.Strict)
		e.Close('}')
	}
	switch {
	case more == nil:
	case s == nil:
		e.members(more, `Extras "text"`)
	default:
		e.members(more, `Extras "text"`, "format")
	}
	e.Close('}')
}

// reasoning writes the settings of the reasoning: those of the request, or else of the config.
func (e *encoder) reasoning(s style, own []byte) {
	if own != nil {
		e.Raw("reasoning", own, `Extras "reasoning"`)
		return
	}
	if s.effort == "" && s.summary == "" {
		return
	}
	e.Name("reasoning")
	e.Open('{')
	if s.effort != "" {
		e.Text("effort", s.effort)
	}
	if s.summary != "" {
		e.Text("summary", s.summary)
	}
	e.Close('}')
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
		e.Name("include")
		e.B = append(append(append(e.B, '['), strings.Join(list, ",")...), ']')
	}
}
