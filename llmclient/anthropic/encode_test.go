package anthropic_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/anthropic"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

type config = anthropic.Config

// encode returns the body that a request is sent with.
func encode(t testing.TB, cfg config, req *llmclient.Request) string {
	t.Helper()
	body, err := anthropic.Encode(cfg, req, false)
	require.Nil(t, err)
	require.True(t, json.Valid(body), string(body))
	return string(body)
}

func one(h ...messages.Message) *llmclient.Request { return &llmclient.Request{Messages: h} }

func user(parts ...messages.UserContent) messages.User { return messages.User{Content: parts} }

func said(parts ...messages.AssistantContent) messages.Assistant {
	return messages.Assistant{Content: parts}
}

func output(id, text string) messages.Tool {
	return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: "f", Output: text}}
}

// conversation returns the messages of the body of a request.
func conversation(t testing.TB, cfg config, h ...messages.Message) string {
	t.Helper()
	var body struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(encode(t, cfg, one(h...))), &body))
	return string(body.Messages)
}

func TestEncode_everything(t *testing.T) {
	temperature := 0.5
	req := &llmclient.Request{
		Model: "m2", Messages: messages.History{
			messages.System{Text: "Be brief."}, messages.System{Text: " \n"}, messages.System{Text: "Be kind.", Cache: messages.Cache1h}, messages.UserText("hi"),
		},
		Tools: []tools.Definition{
			{Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`), Strict: true},
			{Name: "now", Cache: messages.Cache1h, ReadOnly: true},
		},
		ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool, Name: "add"},
		Schema:     &llmclient.Schema{Name: "answer", Schema: json.RawMessage(`{"type":"object"}`), Strict: true},
		Stop:       []string{"END", "\nObservation:"}, Temperature: &temperature, MaxTokens: 9,
		Extras: messages.Extras{"metadata": json.RawMessage(`{"user_id":"u"}`), "top_k": json.RawMessage(`5`)},
	}
	body, err := anthropic.Encode(config{Model: "m1", Effort: "low", Cache: messages.Cache5m, Thinking: anthropic.Thinking{Mode: anthropic.ThinkAdaptive, Display: "omitted"}}, req, true)
	require.Nil(t, err)
	require.Equal(t, `{"model":"m2","tools":[{"name":"add","description":"Adds.","input_schema":{"type":"object","properties":{"a":{"type":"number"}}},"strict":true},`+
		`{"name":"now","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral","ttl":"1h"}}],"tool_choice":{"type":"tool","name":"add"},`+
		`"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral","ttl":"1h"}}],`+
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"thinking":{"type":"adaptive","display":"omitted"},`+
		`"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}},"cache_control":{"type":"ephemeral"},`+
		`"max_tokens":9,"stop_sequences":["END","\nObservation:"],"temperature":0.5,"stream":true,"metadata":{"user_id":"u"},"top_k":5}`, string(body))

	require.Equal(t, `{"model":"m1","messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"max_tokens":16000}`, encode(t, config{Model: "m1"}, hello()))
	require.Contains(t, encode(t, config{MaxTokens: 77}, hello()), `"max_tokens":77}`)
	require.Contains(t, encode(t, config{Thinking: anthropic.Thinking{Mode: anthropic.ThinkEnabled, Budget: 2000}}, hello()), `"thinking":{"type":"enabled","budget_tokens":2000}`)
}

func TestEncode_toolChoice(t *testing.T) {
	for mode, want := range map[llmclient.ToolChoiceMode]string{
		"": "", llmclient.ChooseAuto: `"tool_choice":{"type":"auto"}`, llmclient.ChooseNone: `"tool_choice":{"type":"none"}`, llmclient.ChooseRequired: `"tool_choice":{"type":"any"}`,
	} {
		req := hello()
		req.Tools, req.ToolChoice.Mode = []tools.Definition{{Name: "f"}}, mode
		body := encode(t, config{}, req)
		require.Contains(t, body, want)
		require.Equal(t, want != "", strings.Contains(body, "tool_choice"))
		req.ToolFormat = llmclient.ToolsText
		require.NotContains(t, encode(t, config{}, req), "tool")
	}
}

// The results of parallel calls are one message, results first; a message of the user after them
// stays its own.
func TestEncode_toolResults(t *testing.T) {
	failed := output("c", "no such city")
	failed.Status, failed.Images = messages.StatusFailed, []messages.Image{{URL: "https://x.example/c.png"}}
	pictured := output("b", "look")
	pictured.Images = []messages.Image{{URL: "data:image/png;base64,QUJD"}, {URL: "https://x.example/b.png"}}
	pictured.Cache = messages.Cache5m
	outside := output("d", "</untrusted>")
	outside.Untrusted = true
	got := conversation(t, config{}, messages.UserText("go"), said(call("a", "f", `{"x": 1}`), call("b", "f", ""), call("c", "f", "null"), call("d", "f", "[1")),
		output("a", ""), pictured, failed, outside, messages.UserText("and?"))
	require.Equal(t, `[{"role":"user","content":[{"type":"text","text":"go"}]},`+
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x": 1}},{"type":"tool_use","id":"b","name":"f","input":{}},`+
		`{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"tool_use","id":"d","name":"f","input":{"INVALID_JSON":"[1"}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},`+
		`{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}},{"type":"image","source":{"type":"url","url":"https://x.example/b.png"}}],"cache_control":{"type":"ephemeral"}},`+
		`{"type":"tool_result","tool_use_id":"c","content":"no such city","is_error":true},`+
		`{"type":"tool_result","tool_use_id":"d","content":`+quote2(outside.ForModel())+`},`+
		`{"type":"image","source":{"type":"url","url":"https://x.example/c.png"}}]},`+
		`{"role":"user","content":[{"type":"text","text":"and?"}]}]`, got)
}

// quote2 is quote without the escapes for HTML.
func quote2(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

// Thoughts go back as they came, in their place among the calls; those of other providers do not.
func TestW11_RepliesGoBackAsTheyCame(t *testing.T) {
	content := `{"type":"thinking","thinking":"First \"this\".","signature":"EqQB+/="},{"type":"tool_use","id":"toolu_1","name":"f","input":{"x": [1, 2]}},` +
		`{"type":"redacted_thinking","data":"EmwK"},{"type":"thinking","thinking":"","signature":"EqQC"},{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"x"}},` +
		`{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"text","text":"So."},` +
		`{"type":"tool_use","id":"toolu_2","name":"f","input":{},"caller":{"type":"code_execution_20260120","tool_id":"s"}}`
	resp, err := askWhole(t, sayJSON(t, whole(content, "tool_use")))
	reply := must(t, resp, err).Message
	stored, failed := messages.History{reply}.MarshalJSON()
	require.NoError(t, failed)
	var again messages.History
	require.NoError(t, again.UnmarshalJSON(stored))
	require.Equal(t, `[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":[`+content+`]}]`, conversation(t, config{}, messages.UserText("go"), again[0]))

	other := said(messages.Thought{Text: "of another"}, messages.Thought{Text: "x", Extras: messages.Extras{"reasoning": json.RawMessage(`1`)}}, messages.Text{Text: "hi", Citations: []messages.Citation{{URL: "u"}}})
	other.Extras = messages.Extras{"reasoning_content": json.RawMessage(`"of another"`)}
	require.Equal(t, `[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":[{"type":"text","text":"hi"}]}]`, conversation(t, config{}, messages.UserText("go"), other))
}

func TestEncode_callIDs(t *testing.T) {
	got := conversation(t, config{}, messages.UserText("go"), said(call("functions.f:0", "f", "{}"), call("functions.f.0", "f", "{}")), output("functions.f:0", "x"), output("functions.f.0", "y"))
	var list []struct{ Content []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(got), &list))
	calls, results := list[1].Content, list[2].Content
	require.Equal(t, calls[0]["id"], results[0]["tool_use_id"])
	require.Equal(t, calls[1]["id"], results[1]["tool_use_id"])
	require.NotEqual(t, calls[0]["id"], calls[1]["id"])
	require.Regexp(t, `^functions_f_0_[0-9a-f]{8}$`, calls[0]["id"])
}

func TestEncode_content(t *testing.T) {
	for name, c := range map[string]struct {
		part messages.UserContent
		want string
	}{
		"text":               {messages.Text{Text: "hi\x80", Cache: messages.Cache5m}, `{"type":"text","text":"hi�","cache_control":{"type":"ephemeral"}}`},
		"image by address":   {messages.Image{URL: "https://x.example/a.png", Detail: "low"}, `{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}}`},
		"image":              {messages.Image{URL: "DATA:image/PNG;base64,QUJD", Cache: messages.Cache1h}, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"},"cache_control":{"type":"ephemeral","ttl":"1h"}}`},
		"image, in percents": {messages.Image{URL: "data:image/gif,ABC%00"}, `{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"QUJDAA=="}}`},
		"pdf":                {messages.File{Name: "a.pdf", URL: "data:application/pdf;base64,QUJD"}, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QUJD"},"title":"a.pdf"}`},
		"pdf by type":        {messages.File{MediaType: "Application/PDF", URL: "data:;base64,QUJD", Cache: messages.Cache5m}, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"QUJD"},"cache_control":{"type":"ephemeral"}}`},
		"pdf by address":     {messages.File{URL: "https://x.example/a.pdf"}, `{"type":"document","source":{"type":"url","url":"https://x.example/a.pdf"}}`},
		"text file":          {messages.File{Name: "a.csv", URL: "data:text/csv;charset=utf-8;base64,YSxi"}, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"},"title":"a.csv"}`},
		"text file, plain":   {messages.File{URL: "data:,a%20b"}, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a b"}}`},
		"file by id":         {messages.File{ID: "file_1", Name: "a"}, `{"type":"document","source":{"type":"file","file_id":"file_1"},"title":"a"}`},
		"image by id":        {messages.File{ID: "file_1", MediaType: "image/png", Name: "a"}, `{"type":"image","source":{"type":"file","file_id":"file_1"}}`},
		"image as a file":    {messages.File{URL: "data:image/webp;base64,QUJD"}, `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"QUJD"}}`},
		"image by file URL":  {messages.File{URL: "https://x.example/a", MediaType: "image/png"}, `{"type":"image","source":{"type":"url","url":"https://x.example/a"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, `[{"role":"user","content":[`+c.want+`]}]`, conversation(t, config{}, user(messages.Text{Text: "\n"}, c.part)))
		})
	}
	require.Contains(t, conversation(t, config{Citations: true}, user(messages.File{ID: "f"})), `"citations":{"enabled":true}}]`)
}

// A mark on a message is a mark on its last block that can have one.
func TestEncode_cacheOfMessages(t *testing.T) {
	marked := func(a messages.Assistant) messages.Assistant { a.Cache = messages.Cache5m; return a }
	const mark = `,"cache_control":{"type":"ephemeral"}}`
	for want, m := range map[string]messages.Message{
		`[{"type":"text","text":"a"},{"type":"text","text":"b"` + mark + `]`:                                                       messages.User{Content: []messages.UserContent{messages.Text{Text: "a"}, messages.Text{Text: "b"}}, Cache: messages.Cache5m},
		`[{"type":"text","text":"c","cache_control":{"type":"ephemeral","ttl":"1h"}}]`:                                             messages.User{Content: []messages.UserContent{messages.Text{Text: "c", Cache: messages.Cache1h}}, Cache: messages.Cache5m},
		`[{"type":"text","text":"d"` + mark + `]`:                                                                                  marked(said(messages.Text{Text: "d"}, messages.Text{Text: " "})),
		`[{"type":"text","text":"e"` + mark + `]`:                                                                                  marked(said(messages.Text{Text: "e"}, signed("t", "s"))),
		`[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{"x":{}}` + mark + `]`: marked(said(signed("t", "s"), call("a", "f", `{"x":{}}`))),
	} {
		require.Contains(t, conversation(t, config{}, m, messages.UserText("go on")), want)
	}
}

// Messages without content are left out, since the API takes none.
func TestEncode_emptyMessages(t *testing.T) {
	got := conversation(t, config{}, messages.UserText("a"), said(messages.Thought{Text: "of another"}), messages.User{}, said(messages.Text{Text: " "}), messages.UserText("b"))
	require.Equal(t, `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"b"}]}]`, got)
}

// A system message after the beginning stays in its place: what was sent before stays as it was.
func TestEncode_laterSystemMessage(t *testing.T) {
	body := encode(t, config{}, one(messages.System{Text: "s"}, messages.UserText("a"), messages.System{Text: "now in French"}))
	require.Contains(t, body, `"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"system","content":[{"type":"text","text":"now in French"}]}]`)
}

func TestEncode_replacedByExtras(t *testing.T) {
	cfg := config{Effort: "low", Cache: messages.Cache5m, Thinking: anthropic.Thinking{Mode: anthropic.ThinkEnabled, Budget: 2000}}
	req := hello()
	req.MaxTokens = 100
	req.Extras = messages.Extras{"thinking": json.RawMessage(`{"type":"disabled"}`), "cache_control": json.RawMessage(`null`), "output_config": json.RawMessage(`{"effort":"max"}`)}
	body := encode(t, cfg, req)
	require.Equal(t, `{"model":"","messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"max_tokens":100,"cache_control":null,"output_config":{"effort":"max"},"thinking":{"type":"disabled"}}`, body)
}

// What the API does not take is an error before anything is sent, which says what to do.
func TestEncode_refuses(t *testing.T) {
	marks := make(messages.History, 5)
	for i := range marks {
		marks[i] = messages.User{Content: []messages.UserContent{messages.Text{Text: "x"}}, Cache: messages.Cache5m}
	}
	nan := math.NaN()
	for want, c := range map[string]struct {
		cfg config
		req *llmclient.Request
	}{
		"the request has no messages":                          {req: one(messages.System{Text: "s"})},
		"the last message, 1, is empty or blank":               {req: one(messages.UserText("a"), messages.UserText(" "))},
		`message 0 has the Name "eve"`:                         {req: one(messages.User{Content: user(messages.Text{Text: "x"}).Content, Name: "eve"})},
		"message 0 has sound":                                  {req: one(user(messages.Audio{Format: "wav", URL: "data:audio/wav;base64,QUJD"}))},
		`message 0 has an image of type "image/bmp"`:           {req: one(user(messages.Image{URL: "data:image/bmp;base64,QUJD"}))},
		"message 0 has an image whose data URL cannot be read": {req: one(user(messages.Image{URL: "data:image/png,%zz"}))},
		"message 0 has a file whose data URL cannot be read":   {req: one(user(messages.File{URL: "data:application/pdf,%zz"}))},
		"message 0 has an image whose URL is neither":          {req: one(user(messages.Image{URL: "file:///etc/passwd"}))},
		`message 0 has a file of type "application/zip"`:       {req: one(user(messages.File{URL: "data:application/zip;base64,QUJD"}))},
		`message 0 has a file of type "text/plain", and`:       {req: one(user(messages.File{URL: "data:text/plain;base64,/w=="}))},
		`message 0 has a file of type "text/plain" by address`: {req: one(user(messages.File{URL: "https://x.example/a.txt", MediaType: "text/plain"}))},
		"message 0 has a file with both an ID and a URL":       {req: one(user(messages.File{URL: "https://x.example/a", ID: "f"}))},
		"message 0 has a part <nil>":                           {req: one(user(nil))},
		"message 0 is a <nil>":                                 {req: one(nil)},
		"message 1 has a part *messages.Text":                  {req: one(messages.UserText("x"), said(&messages.Text{}))},
		"the request has 5 marks of the cache":                 {req: one(marks...)},
		"the request has 5 marks of the cache, ":               {cfg: config{Cache: messages.Cache5m}, req: one(marks[:4]...)},
		"the request has 5 marks of the cache, and":            {req: &llmclient.Request{Messages: marks[:4], Extras: messages.Extras{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}}},
		`Cache is "2h"`: {req: one(user(messages.Text{Text: "x", Cache: "2h"}))},
		"message 1 has Cache, but nothing that can be cached": {req: one(messages.UserText("x"), messages.Assistant{Content: said(signed("t", "s")).Content, Cache: messages.Cache5m}, messages.UserText("y"))},
		"MaxTokens is 1500, and thoughts may take 2000":       {cfg: config{Thinking: anthropic.Thinking{Mode: anthropic.ThinkEnabled, Budget: 2000}}, req: &llmclient.Request{Messages: hello().Messages, MaxTokens: 1500}},
		`the stop sequence "\n" is blank`:                     {req: &llmclient.Request{Messages: hello().Messages, Stop: []string{"END", "\n"}}},
		"a Cache of 1h comes after one of 5m":                 {cfg: config{Cache: messages.Cache1h}, req: one(marks[0])},
		"MaxTokens is -1":                                     {req: &llmclient.Request{Messages: hello().Messages, MaxTokens: -1}},
		"Temperature is NaN":                                  {req: &llmclient.Request{Messages: hello().Messages, Temperature: &nan}},
		`unknown ToolFormat "x"`:                              {req: &llmclient.Request{Messages: hello().Messages, ToolFormat: "x"}},
		`unknown ToolChoice "x"`:                              {req: &llmclient.Request{Messages: hello().Messages, ToolChoice: llmclient.ToolChoice{Mode: "x"}}},
		`ToolChoice "tool" has no Name`:                       {req: &llmclient.Request{Messages: hello().Messages, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseTool}}},
		`ToolChoice "required", but no tool is offered`:       {req: &llmclient.Request{Messages: hello().Messages, ToolChoice: llmclient.ToolChoice{Mode: llmclient.ChooseRequired}}},
		`Parameters of tool "f" is not JSON`:                  {req: &llmclient.Request{Messages: hello().Messages, Tools: []tools.Definition{{Name: "f", Parameters: json.RawMessage("{")}}}},
		`Schema "s" is not JSON`:                              {req: &llmclient.Request{Messages: hello().Messages, Schema: &llmclient.Schema{Name: "s"}}},
		`Extras has the field "max_tokens"`:                   {req: &llmclient.Request{Messages: hello().Messages, Extras: messages.Extras{"max_tokens": json.RawMessage("1")}}},
		`Extras has the field "output_config", and`:           {req: &llmclient.Request{Messages: hello().Messages, Schema: &llmclient.Schema{Schema: json.RawMessage("{}")}, Extras: messages.Extras{"output_config": json.RawMessage("{}")}}},
		`message 0 "anthropic_signature" is not JSON`:         {req: one(said(messages.Thought{Extras: messages.Extras{"anthropic_signature": json.RawMessage("x")}}, messages.Text{Text: "x"}))},
		`message 0 "anthropic_block" is not a JSON object`:    {req: one(said(messages.Thought{Extras: messages.Extras{"anthropic_block": json.RawMessage("1")}}))},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := anthropic.Encode(c.cfg, c.req, false)
			require.NotNil(t, err)
			require.Equal(t, llmclient.CodeBadRequest, err.Code)
			require.Contains(t, err.Message, "anthropic: "+want)
		})
	}
	s := sayJSON(t, whole("", "end_turn"))
	_, err := newClient(t, s).Complete(t.Context(), one(messages.UserText("")), nil)
	require.Equal(t, llmclient.CodeBadRequest, llmclient.CodeOf(err))
	_, err = newClient(t, s, func(c *config) { c.Model = "" }).Complete(t.Context(), hello(), nil)
	require.ErrorContains(t, err, "no model: set Request.Model or Config.Model")
	require.Empty(t, s.Path())
}

func TestEncode_header(t *testing.T) {
	s := sayEvents(t, stream("end_turn")...)
	_, failed := ask(t, s)
	require.Nil(t, failed)
	body, head := s.Sent()
	require.Contains(t, body, `"stream":true`)
	require.Equal(t, canary, head.Get("X-Api-Key"))
	require.Equal(t, "2023-06-01", head.Get("Anthropic-Version"))
	require.Equal(t, "application/json", head.Get("Content-Type"))
	require.Equal(t, "text/event-stream", head.Get("Accept"))
	require.Equal(t, "/v1/messages", s.Path())
}
