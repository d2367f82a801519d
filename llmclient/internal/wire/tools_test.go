package wire_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/internal/wire"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestParameters(t *testing.T) {
	for given, want := range map[string]string{
		``:                                    `{"type":"object","properties":{}}`,
		`{"type":"object"}`:                   `{"type":"object","properties":{}}`,
		" { \"type\" : \"object\"\n}\n":       `{"type":"object","properties":{}}`,
		`{"type":"object","properties":null}`: `{"type":"object","properties":{}}`,
		`{"properties":null,"type":"object","x":null}`:                        `{"properties":{},"type":"object","x":null}`,
		`{"additionalProperties":{"properties":{}},"type":"object"}`:          `{"additionalProperties":{"properties":{}},"type":"object","properties":{}}`,
		`{"type":"object","description":"has \"properties\": none}","a":"}"}`: `{"type":"object","description":"has \"properties\": none}","a":"}","properties":{}}`,
	} {
		require.Equal(t, want, string(wire.Parameters([]byte(given))), given)
	}
	for _, same := range []string{
		`{"type":"object","properties":{}}`,
		`{"properties":{"a":{"type":"object"}},"type":"object"}`,
		`{"type":"object","properties":{"properties":null}}`,
		`{"type":"string"}`,
		`{}`,
		`{"items":{"type":"object"}}`,
		`true`,
		`{"type":"object"`,
		`{"type":"object"} {}`,
		`{"type":"object","properties":{"n":{"const":1e3}}}`,
	} {
		require.Equal(t, same, string(wire.Parameters([]byte(same))))
	}
}

// picky is a server that refuses tools by their schemas, the first one first.
type picky struct {
	refuse func(name string, index int) string // the error; "" if it takes the tool
	sent   [][]string                          // the names of the tools of each request
	told   []llmclient.Notice
}

func (p *picky) client() llmclient.Client {
	return wire.Asking{Package: "picky", Model: "m", Once: func(_ context.Context, req *llmclient.Request, _ string, _ func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
		p.sent = append(p.sent, names(req))
		for i, name := range names(req) {
			if text := p.refuse(name, i); text != "" {
				return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Status: 400, Message: text}
			}
		}
		return &llmclient.Response{Model: "m", Message: messages.AssistantText("ok")}, nil
	}}.Client()
}

func names(req *llmclient.Request) (list []string) {
	for _, d := range req.Tools {
		list = append(list, d.Name)
	}
	return list
}

func (p *picky) ask(t *testing.T, c llmclient.Client, req *llmclient.Request) (*llmclient.Response, error) {
	t.Helper()
	p.sent, p.told = nil, nil
	return c.Complete(llmclient.WithNotify(t.Context(), func(n llmclient.Notice) { p.told = append(p.told, n) }), req, nil)
}

// offer returns a request with tools of these names.
func offer(names ...string) *llmclient.Request {
	req := &llmclient.Request{Messages: messages.History{messages.UserText("go")}}
	for _, name := range names {
		req.Tools = append(req.Tools, tool(name))
	}
	return req
}

// badly refuses the tools with these names, in the words of a server.
func badly(words string, bad ...string) *picky {
	return &picky{refuse: func(name string, index int) string {
		if !slices.Contains(bad, name) {
			return ""
		}
		return strings.NewReplacer("NAME", name, "INDEX", fmt.Sprint(index)).Replace(words)
	}}
}

func TestAsking_leavesRefusedToolsOut(t *testing.T) {
	for _, words := range []string{
		"Invalid schema for function 'NAME': In context=(), object schema missing properties.",
		"Invalid schema for function \"NAME\": null is not of type \"array\"",
		"invalid JSON schema for tool NAME, tools[INDEX].function.parameters: 'required' present but 'properties' is missing",
		"tools.INDEX.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
		"tools.INDEX.input_schema.type: Field required",
		"* GenerateContentRequest.tools[0].function_declarations[INDEX].parameters.properties[a].items: missing field.",
		"Invalid value at 'tools[0].function_declarations[INDEX].parameters.properties[0].value'",
		"Unable to submit request because `NAME` functionDeclaration `parameters.a` schema didn't specify the schema type field.",
		"[{'type': 'dict_type', 'loc': ('body', 'tools', INDEX, 'function', 'parameters'), 'msg': 'Input should be a valid dictionary'}]",
		"The value at toolConfig.tools.INDEX.toolSpec.inputSchema.json.type must be one of the following: object.",
	} {
		p := badly(words, "b", "d")
		c := p.client()
		req := offer("a", "b", "c", "d")
		resp, err := p.ask(t, c, req)
		require.NoError(t, err, words)
		require.Equal(t, [][]string{{"a", "b", "c", "d"}, {"a", "c", "d"}, {"a", "c"}}, p.sent, words)
		require.Equal(t, []string{"a", "b", "c", "d"}, names(req), "the request of the caller stays")
		require.Len(t, resp.Attempts, 2)
		require.Len(t, p.told, 2)
		for i, name := range []string{"b", "d"} {
			require.Equal(t, llmclient.CodeBadRequest, resp.Attempts[i].Code)
			require.Contains(t, resp.Attempts[i].Error, `the tool "`+name+`" is left out`)
			require.Equal(t, llmclient.NoticeToolLeftOut, p.told[i].Kind)
			require.Equal(t, "m", p.told[i].Model)
			require.ErrorContains(t, p.told[i].Err, `the tool "`+name+`" is left out`)
		}

		// The client remembers it, of the model and of the schema.
		resp, err = p.ask(t, c, offer("d", "a"))
		require.NoError(t, err)
		require.Equal(t, [][]string{{"a"}}, p.sent)
		require.Empty(t, resp.Attempts)
		other := offer("d", "a")
		other.Model = "other"
		_, err = p.ask(t, c, other)
		require.NoError(t, err)
		require.Equal(t, [][]string{{"d", "a"}, {"a"}}, p.sent)
		mended := offer("d")
		mended.Tools[0].Parameters = []byte(`{"type":"object","properties":{}}`)
		_, err = p.ask(t, c, mended)
		require.NoError(t, err)
		require.Equal(t, []string{"d"}, p.sent[0])
	}
}

func TestAsking_keepsTools(t *testing.T) {
	const words = "Invalid schema for function 'NAME': bad"
	forced := llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "b"}
	for name, c := range map[string]struct {
		words  string
		tools  []string
		choice llmclient.ToolChoice
		format llmclient.ToolFormat
		sent   int
	}{
		"a tool that is forced":               {words: words, tools: []string{"a", "b"}, choice: forced, sent: 1},
		"the last of those that are required": {words: words, tools: []string{"b"}, choice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}, sent: 1},
		"tools that were not sent":            {words: "tools.0.input_schema: bad", tools: []string{"b"}, format: llmclient.ToolsText, sent: 1},
		"no tool of that name":                {words: "Invalid schema for function 'NAME2': bad", tools: []string{"a", "b"}, sent: 1},
		"no tool at that place":               {words: "tools[2].function.parameters: bad", tools: []string{"a", "b"}, sent: 1},
		"a place beyond numbers":              {words: "tools[99999999999999999999].parameters: bad", tools: []string{"a", "b"}, sent: 1},
		"the schema of the answer":            {words: "Invalid schema for response_format 'b': bad", tools: []string{"a", "b"}, sent: 1},
		"a message":                           {words: "messages.0.content.1.tool_use.input: bad", tools: []string{"a", "b"}, sent: 1},
		"a name":                              {words: "Invalid 'tools[0].function.name': string does not match", tools: []string{"a", "b"}, sent: 1},
	} {
		p := badly(c.words, "b")
		req := offer(c.tools...)
		req.ToolChoice, req.ToolFormat = c.choice, c.format
		_, err := p.ask(t, p.client(), req)
		require.Error(t, err, name)
		require.Len(t, p.sent, c.sent, name)
		require.Empty(t, p.told, name)
	}

	// A tool that was left out before goes along where it is forced.
	p := badly(words, "b")
	client := p.client()
	_, err := p.ask(t, client, offer("a", "b"))
	require.NoError(t, err)
	req := offer("a", "b")
	req.ToolChoice = forced
	_, err = p.ask(t, client, req)
	require.ErrorContains(t, err, "Invalid schema for function 'b'")
	require.Equal(t, [][]string{{"a", "b"}}, p.sent)

	// Where only refused tools are required, one of them goes along.
	req = offer("b")
	req.ToolChoice = llmclient.ToolChoice{Mode: llmclient.ChooseRequired}
	_, err = p.ask(t, client, req)
	require.Error(t, err)
	require.Equal(t, [][]string{{"b"}}, p.sent)

	// A server that names the wrong place ends it.
	all := &picky{refuse: func(string, int) string { return "tools[0].parameters: bad" }}
	resp, err := all.ask(t, all.client(), offer("a", "b", "c"))
	require.NoError(t, err)
	require.Len(t, resp.Attempts, 3)
	always := wire.Asking{Model: "m", Once: func(context.Context, *llmclient.Request, string, func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
		return nil, &llmclient.Error{Code: llmclient.CodeBadRequest, Message: "tools[0].parameters: bad"}
	}}.Client()
	_, err = always.Complete(t.Context(), offer("a", "b", "c"), nil)
	var failed *llmclient.Error
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Attempts, 3)

	// An error after the reply has begun, and another kind of error, are no refusals.
	for _, e := range []llmclient.Error{
		{Code: llmclient.CodeBadRequest, Partial: messages.AssistantText("so far")}, {Code: llmclient.CodeUnavailable}, {Code: llmclient.CodeContextLength},
	} {
		e.Message = "tools[0].parameters: bad"
		once := 0
		_, err = wire.Asking{Model: "m", Once: func(context.Context, *llmclient.Request, string, func(llmclient.Delta)) (*llmclient.Response, *llmclient.Error) {
			once++
			failed := e
			return nil, &failed
		}}.Client().Complete(t.Context(), offer("a", "b"), nil)
		require.Error(t, err)
		require.Equal(t, 1, once)
	}
}

func tool(name string) tools.Definition {
	return tools.Definition{Name: name, Parameters: []byte(`{"type":"object"}`)}
}
