package messages_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/messages"
)

func TestHistoryJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    messages.History
		json string
	}{
		{"empty", nil, `{"v":1,"messages":[]}`},
		{"system", messages.History{messages.System{Text: "be brief"}}, `{"v":1,"messages":[{"role":"system","text":"be brief"}]}`},
		{
			"user",
			messages.History{messages.User{Content: []messages.UserContent{messages.Text{Text: "what?"}, messages.Image{URL: "https://x/y", Detail: "low"}, messages.Image{URL: "u"}}}},
			`{"v":1,"messages":[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image","url":"https://x/y","detail":"low"},{"type":"image","url":"u"}]}]}`,
		},
		{
			"assistant",
			messages.History{messages.Assistant{
				Content: []messages.AssistantContent{
					messages.Thought{Text: "hm"},
					messages.Text{Text: "a <b>"},
					messages.ToolCall{ID: "c1", Name: "read", Arguments: `{"path": `, Extras: messages.Extras{"signature": json.RawMessage(`"s"`)}},
				},
				Extras: messages.Extras{"b": nil, "a": json.RawMessage(`{"n":1.50}`)},
			}},
			`{"v":1,"messages":[{"role":"assistant","content":[{"type":"thought","text":"hm"},{"type":"text","text":"a <b>"},` +
				`{"type":"tool_call","id":"c1","name":"read","arguments":"{\"path\": ","signature":"s"}],"a":{"n":1.50},"b":null}]}`,
		},
		{
			"tool",
			messages.History{messages.Tool{
				ToolOutput: messages.ToolOutput{CallID: "c1", ToolName: "read", Output: "x\n", Status: messages.StatusFailed, Reason: "error", Untrusted: true, Elapsed: time.Second},
				Extras:     messages.Extras{"cached": json.RawMessage(`true`)},
			}, answer("c2")},
			`{"v":1,"messages":[{"role":"tool","call_id":"c1","tool_name":"read","output":"x\n","status":"failed","reason":"error","untrusted":true,"elapsed":1000000000,"cached":true},` +
				`{"role":"tool","call_id":"c2","tool_name":"read","output":"ok"}]}`,
		},
		{
			"names and caches",
			messages.History{
				messages.System{Text: "s", Name: "boss", Cache: messages.Cache1h},
				messages.User{Name: "ann", Cache: messages.Cache5m, Pinned: true, Extras: messages.Extras{"x": json.RawMessage("1")}},
				messages.Assistant{Content: []messages.AssistantContent{messages.Text{Text: "a"}}, Name: "bot", Cache: messages.Cache5m},
				messages.Tool{ToolOutput: messages.ToolOutput{CallID: "c"}, Cache: messages.Cache5m},
			},
			`{"v":1,"messages":[{"role":"system","text":"s","name":"boss","cache":"1h"},` +
				`{"role":"user","content":[],"pinned":true,"name":"ann","cache":"5m","x":1},` +
				`{"role":"assistant","content":[{"type":"text","text":"a"}],"name":"bot","cache":"5m"},` +
				`{"role":"tool","call_id":"c","tool_name":"","output":"","cache":"5m"}]}`,
		},
		{
			"files and sound",
			messages.History{messages.User{Content: []messages.UserContent{
				messages.Text{Text: "t", Cache: messages.Cache5m},
				messages.Image{URL: "u", Cache: messages.Cache1h},
				messages.File{Name: "a.pdf", MediaType: "application/pdf", URL: "data:,x", Cache: messages.Cache5m},
				messages.File{ID: "file-1"},
				messages.Audio{Format: "wav", URL: "data:,y", Cache: messages.Cache5m},
			}}},
			`{"v":1,"messages":[{"role":"user","content":[{"type":"text","text":"t","cache":"5m"},{"type":"image","url":"u","cache":"1h"},` +
				`{"type":"file","name":"a.pdf","media_type":"application/pdf","url":"data:,x","cache":"5m"},{"type":"file","id":"file-1"},` +
				`{"type":"audio","format":"wav","url":"data:,y","cache":"5m"}]}]}`,
		},
		{
			"citations and signatures",
			messages.History{messages.Assistant{Content: []messages.AssistantContent{
				messages.Thought{Extras: messages.Extras{"signature": json.RawMessage(`"s"`)}},
				messages.Text{Text: "abc", Citations: []messages.Citation{
					{Start: 1, End: 3, URL: "https://x", Title: "X", Quote: "q", Raw: json.RawMessage(`{"a": 1}`)},
					{FileID: "file-1"},
				}},
			}}},
			`{"v":1,"messages":[{"role":"assistant","content":[{"type":"thought","text":"","signature":"s"},{"type":"text","text":"abc","citations":[` +
				`{"start":1,"end":3,"url":"https://x","title":"X","quote":"q","raw":{"a":1}},{"start":0,"end":0,"file_id":"file-1"}]}]}]}`,
		},
		{
			"pictures of a tool",
			messages.History{messages.Tool{ToolOutput: messages.ToolOutput{
				CallID: "c", Images: []messages.Image{{URL: "u", Detail: "low"}, {URL: "v"}}, Attachments: []messages.Attachment{{Name: "n"}},
			}}},
			`{"v":1,"messages":[{"role":"tool","call_id":"c","tool_name":"","output":"","images":[{"url":"u","detail":"low"},{"url":"v"}],` +
				`"attachments":[{"name":"n"}]}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.h.MarshalJSON()
			require.NoError(t, err)
			require.Equal(t, tt.json, string(got))

			var back messages.History
			require.NoError(t, json.Unmarshal(got, &back))
			again, err := back.MarshalJSON()
			require.NoError(t, err)
			require.Equal(t, string(got), string(again))
		})
	}
}

func TestHistoryJSONInsideOtherValues(t *testing.T) {
	type record struct {
		History messages.History      `json:"history,omitempty"`
		Reply   messages.Assistant    `json:"reply"`
		Calls   []messages.ToolCall   `json:"calls"`
		Outputs []messages.ToolOutput `json:"outputs"`
		Last    messages.Tool         `json:"last"`
	}
	in := record{
		History: messages.History{messages.UserText("<&>")},
		Reply:   calls("a"),
		Calls:   []messages.ToolCall{{ID: "a", Name: "read", Arguments: "{}"}, {}},
		Outputs: []messages.ToolOutput{{CallID: "a", Output: "ok"}, {}},
		Last:    messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a"}, Extras: messages.Extras{"x": json.RawMessage("1")}},
	}
	data, err := json.Marshal(in)
	require.NoError(t, err)
	var out record
	require.NoError(t, json.Unmarshal(data, &out))
	require.Equal(t, in, out)

	require.NoError(t, json.Unmarshal([]byte(`{"history":null,"reply":null,"calls":[null],"outputs":[null],"last":null}`), &out))
	require.Equal(t, in.History, out.History, "null is nothing, as encoding/json has it")
}

func TestMessageJSONReadsWhatItCan(t *testing.T) {
	for name, tt := range map[string]struct {
		json string
		want messages.Message
	}{
		"unknown fields":     {`{"role":"user","content":[],"nick":"Bob","n": [ 1, 2 ] }`, messages.User{Extras: messages.Extras{"nick": json.RawMessage(`"Bob"`), "n": json.RawMessage("[1,2]")}}},
		"missing fields":     {`{"role":"assistant"}`, messages.Assistant{}},
		"null fields":        {`{"role":"tool","call_id":null,"output":null,"elapsed":null}`, messages.Tool{}},
		"last of two fields": {`{"role":"system","text":"a","text":"b"}`, messages.System{Text: "b"}},
		"case counts":        {`{"role":"system","Text":"a"}`, messages.System{Extras: messages.Extras{"Text": json.RawMessage(`"a"`)}}},
		"blanks":             {" { \"role\" : \"user\" , \"content\" : [ { \"text\" : \"a\" , \"type\" : \"text\" } ] } ", messages.UserText("a")},
		"escapes":            {`{"role":"\u0075ser","content":[{"type":"text","text":"\ud83d\ude42 \"\\\/\n"}]}`, messages.UserText("🙂 \"\\/\n")},
		"a lone surrogate":   {`{"role":"system","text":"a\ud800b"}`, messages.System{Text: "a\uFFFDb"}},
		"bytes not UTF-8":    {"{\"role\":\"system\",\"text\":\"a\xffb\",\"x\":\"\xff\"}", messages.System{Text: "a\uFFFDb", Extras: messages.Extras{"x": json.RawMessage("\"\uFFFD\"")}}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := messages.UnmarshalMessage([]byte(tt.json))
			require.NoError(t, err)
			require.Equal(t, tt.want, m)
		})
	}
}

func TestMessageJSONWritesOnlyUTF8(t *testing.T) {
	data, err := messages.MarshalMessage(messages.System{Text: "a\xff\xfeb\x01\u2028\"", Extras: messages.Extras{"\xff": json.RawMessage("\"\xff\"")}})
	require.NoError(t, err)
	require.Equal(t, "{\"role\":\"system\",\"text\":\"a\uFFFD\uFFFDb\\u0001\u2028\\\"\",\"\uFFFD\":\"\uFFFD\"}", string(data))
}

func TestHistoryJSONErrors(t *testing.T) {
	for name, tt := range map[string]struct{ json, path, text string }{
		"not JSON":          {`{"v":1,`, "", "unexpected end"},
		"not an object":     {`[]`, "", "is not an object"},
		"no version":        {`{}`, "v", `unknown version ""`},
		"a later version":   {`{"v":2,"messages":[]}`, "v", `unknown version "2"`},
		"not a list":        {`{"v":1,"messages":{}}`, "messages", "is not a list"},
		"a null message":    {`{"v":1,"messages":[null]}`, "messages[0]", "is not an object"},
		"unknown role":      {`{"v":1,"messages":[{"role":"user"},{"role":"narrator"}]}`, "messages[1].role", `unknown role "narrator"`},
		"no role":           {`{"v":1,"messages":[{}]}`, "messages[0].role", `unknown role ""`},
		"unknown type":      {`{"v":1,"messages":[{"role":"user","content":[{"type":"video"}]}]}`, "messages[0].content[0].type", `unknown type "video"`},
		"type of another":   {`{"v":1,"messages":[{"role":"user","content":[{"type":"thought"}]}]}`, "messages[0].content[0].type", `unknown type "thought"`},
		"wrong kind":        {`{"v":1,"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_call","id":7}]}]}`, "messages[0].content[1].id", "cannot unmarshal number"},
		"arguments object":  {`{"v":1,"messages":[{"role":"assistant","content":[{"type":"tool_call","arguments":{}}]}]}`, "messages[0].content[0].arguments", "cannot unmarshal object"},
		"a fractional time": {`{"v":1,"messages":[{"role":"tool","elapsed":1.5}]}`, "messages[0].elapsed", "cannot unmarshal"},
		"a long name":       {`{"v":1,"messages":[{"role":"` + strings.Repeat("x", 1<<20) + `"}]}`, "messages[0].role", "unknown role"},
	} {
		t.Run(name, func(t *testing.T) {
			h := messages.History{messages.UserText("before")}
			err := h.UnmarshalJSON([]byte(tt.json))
			require.ErrorContains(t, err, tt.text)
			require.ErrorContains(t, err, "messages: "+tt.path)
			require.Less(t, len(err.Error()), 300)
			require.Len(t, h, 1, "left as it was")
		})
	}
}

func TestVariantJSONErrors(t *testing.T) {
	require.EqualError(t, json.Unmarshal([]byte(`{"role":"user"}`), new(messages.Assistant)), `messages: role: is "user", want "assistant"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"type":"text"}`), new(messages.ToolCall)), `type: unknown type "text"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"output":1}`), new(messages.ToolOutput)), "messages: output: ")
	require.Error(t, new(messages.ToolCall).UnmarshalJSON([]byte(`{`)))
	require.Error(t, new(messages.ToolOutput).UnmarshalJSON([]byte(`{`)))
	require.Error(t, new(messages.System).UnmarshalJSON([]byte(``)))
}

func TestMarshalErrors(t *testing.T) {
	collide := func(name string) messages.Extras { return messages.Extras{name: json.RawMessage("1")} }
	for name, tt := range map[string]struct {
		m          messages.Message
		path, text string
	}{
		"nil":            {nil, "messages[0]", "<nil> is not a message"},
		"pointer":        {&messages.User{}, "messages[0]", "*messages.User is not a message"},
		"user part":      {messages.User{Content: []messages.UserContent{nil}}, "messages[0].content[0]", "<nil> is not a part"},
		"assistant part": {messages.Assistant{Content: []messages.AssistantContent{&messages.Text{}}}, "messages[0].content[0]", "*messages.Text is not a part"},
		"system field":   {messages.System{Extras: collide("text")}, "messages[0].text", "the name of a field"},
		"user field":     {messages.User{Extras: collide("role")}, "messages[0].role", "the name of a field"},
		"tool field":     {messages.Tool{Extras: collide("elapsed")}, "messages[0].elapsed", "the name of a field"},
		"call field":     {messages.Assistant{Content: []messages.AssistantContent{messages.ToolCall{Extras: collide("id")}}}, "messages[0].content[0].id", "the name of a field"},
		"thought field":  {messages.Assistant{Content: []messages.AssistantContent{messages.Thought{Extras: collide("text")}}}, "messages[0].content[0].text", "the name of a field"},
		"citation":       {messages.Assistant{Content: []messages.AssistantContent{messages.Text{Citations: []messages.Citation{{}, {Raw: json.RawMessage("{")}}}}}, "messages[0].content[0].citations[1].raw", "not JSON"},
		"broken extra":   {messages.Assistant{Extras: messages.Extras{"x": json.RawMessage("{")}}, "messages[0].x", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := messages.History{tt.m}.MarshalJSON()
			require.ErrorContains(t, err, "messages: "+tt.path+": ")
			require.ErrorContains(t, err, tt.text)
		})
	}
}

func TestHistoryJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := historyOf(value).Draw(t, "history")
		data, err := json.Marshal(in)
		require.NoError(t, err)
		require.True(t, json.Valid(data))
		var out messages.History
		require.NoError(t, json.Unmarshal(data, &out))
		if len(in) == 0 {
			in = nil
		}
		require.Equal(t, in, out)
	})
}

func FuzzHistoryJSON(f *testing.F) {
	for _, seed := range []string{
		``, `null`, ` null `, `{}`, `{"v":1}`, `{"v":1,"messages":null}`, `{"v":1,"messages":[{"role":"system","text":"x"}]}`,
		`{"v":1,"messages":[{"role":"user","content":[{"type":"text","text":"\ud800 \n"},{"type":"image","url":"u","detail":"d"}],"k":{"a":[1,{}]}}]}`,
		`{"v":1,"messages":[{"role":"user","content":[{"type":"file","name":"n","media_type":"m","url":"u","id":"i","cache":"5m"},{"type":"audio","format":"wav","url":"u"}],"name":"a","cache":"1h"}]}`,
		`{"v":1,"messages":[{"role":"assistant","content":[{"type":"thought","text":"","signature":"s"},{"type":"text","text":"t","citations":[{"start":-1,"end":1e2,"raw":[1, 2]}]}]}]}`,
		`{"v":1,"messages":[{"role":"tool","images":[{"url":"u","detail":"low","cache":"5m"}]}]}`,
		`{"v":1,"messages":[{"role":"assistant","content":[{"type":"thought","text":"t"},{"type":"tool_call","id":"1","name":"n","arguments":"{","x":1e9}]}]}`,
		`{"v":1,"messages":[{"role":"tool","call_id":"1","tool_name":"n","output":"o","status":"ok","reason":"r","untrusted":true,"elapsed":-5,"":""}]}`,
		"{\"v\":1,\"messages\":[{\"role\":\"system\",\"\xff\":\"\xff\",\"\xfe\":1}]}", strings.Repeat("[", 20000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second messages.History
		if first.UnmarshalJSON(data) != nil {
			return
		}
		encoded, err := first.MarshalJSON()
		require.NoError(t, err)
		require.NoError(t, second.UnmarshalJSON(encoded))
		require.Equal(t, first, second)
	})
}
