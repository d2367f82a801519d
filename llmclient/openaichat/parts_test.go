package openaichat_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/openaichat"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func saying(parts ...messages.UserContent) messages.User { return messages.User{Content: parts} }

func TestEncode_NamesCachesAndFiles(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	const hour = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	pdf := messages.File{Name: "a.pdf", URL: "data:application/pdf;base64,AA"}
	seen := messages.ToolOutput{CallID: "a", Output: "two", Images: []messages.Image{{URL: "https://x/1.png", Detail: "low"}, {URL: "https://x/2.png"}}}
	for name, test := range map[string]struct {
		host, want string
		m          messages.Message
	}{
		"system": {
			"x", `{"role":"system","content":[{"type":"text","text":"s"` + hour + `}],"name":"boss"}`,
			messages.System{Text: "s", Name: "boss", Cache: messages.Cache1h},
		},
		"a text": {
			"x", `{"role":"user","content":[{"type":"text","text":"a"` + mark + `}],"name":"ann"}`,
			messages.User{Name: "ann", Content: []messages.UserContent{messages.Text{Text: "a", Cache: messages.Cache5m}}},
		},
		"the last part": {
			"x", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}` + mark + `}]}`,
			messages.User{Cache: messages.Cache5m, Content: []messages.UserContent{messages.Text{Text: "a"}, messages.Image{URL: "u"}}},
		},
		"a part's own mark": {
			"openrouter.ai", `{"role":"user","content":[{"type":"text","text":"a"` + mark + `},{"type":"text","text":"b"` + hour + `}]}`,
			messages.User{Cache: messages.Cache5m, Content: []messages.UserContent{messages.Text{Text: "a", Cache: messages.Cache5m}, messages.Text{Text: "b", Cache: messages.Cache1h}}},
		},
		"a reply": {
			"x", `{"role":"assistant","content":[{"type":"text","text":"r"` + mark + `}],"name":"bot"}`,
			messages.Assistant{Name: "bot", Cache: messages.Cache5m, Content: []messages.AssistantContent{messages.Text{Text: "r", Citations: []messages.Citation{{URL: "u"}}}}},
		},
		"a result": {
			"x", `{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"3"` + mark + `}]}`,
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a", Output: "3"}, Cache: messages.Cache5m},
		},
		"a result without text": {
			"x", `{"role":"tool","tool_call_id":"a","content":""}`,
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a"}, Cache: messages.Cache5m},
		},
		"an empty text": {
			"x", `{"role":"user","content":""}`,
			messages.User{Cache: messages.Cache1h, Content: []messages.UserContent{messages.Text{}}},
		},
		"an empty text among others": {
			"x", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`,
			messages.User{Cache: messages.Cache1h, Content: []messages.UserContent{messages.Text{Text: "a"}, messages.Text{}}},
		},
		"pictures of a tool": {
			"openrouter.ai", `{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"two"},{"type":"image_url","image_url":{"url":"https://x/1.png","detail":"low"}},` +
				`{"type":"image_url","image_url":{"url":"https://x/2.png"}` + mark + `}]}`,
			messages.Tool{ToolOutput: seen, Cache: messages.Cache5m},
		},
		"only a picture": {
			"x", `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"u"}}]}`,
			messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a", Images: []messages.Image{{URL: "u"}}}},
		},
		"a file": {
			"api.openai.com", `{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}},{"type":"text","text":"what?"}]}`,
			saying(pdf, messages.Text{Text: "what?"}),
		},
		"a file without a name": {
			"x", `{"role":"user","content":[{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,AA"}` + mark + `}]}`,
			saying(messages.File{URL: pdf.URL, Cache: messages.Cache5m}),
		},
		"a file that the provider holds": {
			"api.openai.com", `{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}`,
			saying(messages.File{Name: "a.pdf", ID: "file-1"}),
		},
		"a file by address": {
			"openrouter.ai", `{"role":"user","content":[{"type":"file","file":{"filename":"document","file_data":"https://x/a"}}]}`,
			saying(messages.File{URL: "https://x/a"}),
		},
		"a file for Mistral": {
			"api.mistral.ai", `{"role":"user","content":[{"type":"document_url","document_url":"https://x/a","document_name":"a"},{"type":"file","file_id":"f"}]}`,
			saying(messages.File{Name: "a", URL: "https://x/a"}, messages.File{ID: "f"}),
		},
		"a sound": {
			"api.openai.com", `{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}]}`,
			saying(messages.Audio{Format: "wav", URL: "data:audio/wav;base64,UklG"}),
		},
		"a sound for Mistral": {
			"api.mistral.ai", `{"role":"user","content":[{"type":"input_audio","input_audio":"UklG"}]}`,
			saying(messages.Audio{Format: "mp3", URL: "data:audio/mpeg;base64,UklG"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.JSONEq(t, `{"model":"m","messages":[`+test.want+`]}`, encode(t, test.host, config{}, one(test.m)))
		})
	}
}

func TestEncode_StrictAndCachedTools(t *testing.T) {
	req := one(messages.UserText("hi"))
	req.Tools = []tools.Definition{{Name: "f", Strict: true}, {Name: "g", Cache: messages.Cache5m}}
	require.Contains(t, encode(t, "openrouter.ai", config{}, req), `"tools":[`+
		`{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}},"strict":true}},`+
		`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}},"cache_control":{"type":"ephemeral"}}]`)
}

// What a server is known to refuse is an error that names the place, and nothing is sent.
func TestEncode_RefusesWhatTheServerRefuses(t *testing.T) {
	marked := messages.User{Content: []messages.UserContent{messages.Text{Text: "a"}, messages.Text{Text: "b", Cache: messages.Cache5m}}}
	file := saying(messages.Text{Text: "a"}, messages.File{ID: "f"})
	link := saying(messages.File{URL: "https://x/a.pdf"})
	sound := saying(messages.Audio{Format: "wav", URL: "data:audio/wav;base64,UklG"})
	seen := messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a", Images: []messages.Image{{URL: "u"}}}}
	for _, test := range []struct {
		host, want string
		m          messages.Message
	}{
		{"api.openai.com", "message 1, part 1: api.openai.com takes no Cache: leave it out", marked},
		{"my.openai.azure.com", "message 1, part 0: openai.azure.com takes no File by its https URL: give the bytes", link},
		{"api.openai.com", "message 1: api.openai.com takes no Images in the result of a tool: have the tool", seen},
		{"api.groq.com", "message 1: groq.com takes no Cache", messages.System{Text: "s", Cache: messages.Cache1h}},
		{"api.groq.com", "message 1: groq.com takes no Name: write the name into the text", messages.User{Name: "ann"}},
		{"api.groq.com", "message 1, part 1: groq.com takes no File: give its text", file},
		{"api.groq.com", "message 1, part 0: groq.com takes no Audio: give what is said", sound},
		{"api.mistral.ai", "message 1: mistral.ai takes no Name: write the name into the text", messages.User{Name: "ann"}},
		{"api.mistral.ai", "message 1: mistral.ai takes no Cache", messages.Tool{Cache: messages.Cache5m}},
		{"api.deepseek.com", "message 1, part 0: deepseek.com takes no Image: describe", saying(messages.Image{URL: "u"})},
		{"api.deepseek.com", "message 1: deepseek.com takes no Image", seen},
		{"api.anthropic.com", "message 1, part 1: anthropic.com takes no Cache", marked},
		{"api.anthropic.com", "message 1, part 1: anthropic.com takes no File: give its text", file},
		{"api.anthropic.com", "message 1, part 0: anthropic.com takes no Audio: give what is said", sound},
		{"api.anthropic.com", "message 1: anthropic.com takes no Name: write the name into the text", messages.User{Name: "ann"}},
		{"api.anthropic.com", "message 1: anthropic.com takes no Images in the result of a tool: have the tool", seen},
	} {
		req := one(messages.UserText("hi"), test.m)
		_, err := openaichat.Encode(test.host, config{}, req, false)
		require.NotNil(t, err, test.want)
		require.Equal(t, llmclient.CodeBadRequest, err.Code)
		require.Contains(t, err.Message, test.want)
		encode(t, test.host, config{SendRefused: true}, req)
		encode(t, "localhost", config{}, req)
	}
	req := one(messages.UserText("hi"))
	req.Tools = []tools.Definition{{Name: "f", Cache: messages.Cache5m}}
	_, err := openaichat.Encode("api.groq.com", config{}, req, false)
	require.Contains(t, err.Message, `tool "f": groq.com takes no Cache`)

	req.Tools = []tools.Definition{{Name: "f", Strict: true}}
	_, err = openaichat.Encode("api.anthropic.com", config{}, req, false)
	require.Contains(t, err.Message, `tool "f": anthropic.com heeds no Strict: leave it out, or use package anthropic`)
	req.Tools, req.Schema = nil, &llmclient.Schema{Name: "s", Schema: json.RawMessage(`{}`)}
	_, err = openaichat.Encode("api.anthropic.com", config{}, req, false)
	require.Contains(t, err.Message, `Schema "s": anthropic.com heeds no response_format, which the Schema is: leave it out`)
	encode(t, "api.anthropic.com", config{SendRefused: true}, req)
}

// What no server takes is an error as well.
func TestEncode_RefusesWhatNoServerTakes(t *testing.T) {
	reply := messages.Assistant{Content: []messages.AssistantContent{call("a", "f", "{}")}, Cache: messages.Cache5m}
	for want, m := range map[string]messages.Message{
		`message 0: unknown Cache "2h"`:                        messages.System{Cache: "2h"},
		"message 0, part 0: a File has either a URL or an ID":  saying(messages.File{Name: "n"}),
		"message 0, part 1: a File has either":                 saying(messages.Text{}, messages.File{URL: "https://x", ID: "i"}),
		"must be an https or a data URL":                       saying(messages.File{URL: "file:///etc/passwd"}),
		"must be a data URL with base64":                       saying(messages.Audio{Format: "wav", URL: "https://x/a.wav"}),
		"an Audio has a Format":                                saying(messages.Audio{URL: "data:audio/wav;base64,AA"}),
		"message 0 has a Cache, but no part to mark":           messages.User{Cache: messages.Cache5m},
		"message 0 is a reply without text, so that its Cache": reply,
		"part *messages.File":                                  saying(&messages.File{}, messages.Text{}),
	} {
		_, err := openaichat.Encode("x", config{SendRefused: true}, one(m), false)
		require.NotNil(t, err, want)
		require.Equal(t, llmclient.CodeBadRequest, err.Code)
		require.Contains(t, err.Message, want)
	}
}
