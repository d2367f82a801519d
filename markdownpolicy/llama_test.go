package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestS2_12_LlamaCalls(t *testing.T) {
	for _, c := range []struct {
		about, reply string
		want         []messages.AssistantContent
	}{
		{"at the start", `{"name": "f", "parameters": {"a": 1}}`, parts(callPart("call_1", "f", `{"a": 1}`))},
		{"arguments", "\n{ \"name\" : \"f\" , \"arguments\" : {} }\n", parts(callPart("call_1", "f", `{}`))},
		{"type", `{"type": "function", "name": "f", "parameters": {}}`, parts(callPart("call_1", "f", `{}`))},
		{"parameters first", `{"parameters": {"a": 1}, "name": "f"}`, parts(callPart("call_1", "f", `{"a": 1}`))},
		{"tag", `<|python_tag|>{"name": "f", "parameters": null}`, parts(callPart("call_1", "f", `{}`))},
		{"tag, without parameters", `<|python_tag|> {"name": "f"}`, parts(callPart("call_1", "f", `{}`))},
		{
			"semicolons", `{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}};{"name": "h", "parameters": {}}`,
			parts(callPart("call_1", "f", `{}`), callPart("call_2", "g", `{}`), callPart("call_3", "h", `{}`)),
		},
		{
			"semicolons and line breaks", "{\"name\": \"f\", \"parameters\": {}};\n{\"name\": \"g\", \"parameters\": {}}",
			parts(callPart("call_1", "f", `{}`), callPart("call_2", "g", `{}`)),
		},
		{
			"line breaks", "{\"name\": \"f\", \"parameters\": {}}\n{\"name\": \"g\", \"parameters\": {}}",
			parts(callPart("call_1", "f", `{}`), callPart("call_2", "g", `{}`)),
		},
		{
			"in prose", `I call {"name": "f", "parameters": {}} now; {"query": 1}.`,
			parts(textPart("I call"), callPart("call_1", "f", `{}`), textPart(`now; {"query": 1}.`)),
		},
		{
			"thought", `<think>so {"name": "g", "parameters": {}}</think>{"name": "f", "parameters": {}}`,
			parts(messages.Thought{Text: `so {"name": "g", "parameters": {}}`}, callPart("call_1", "f", `{}`)),
		},
		{"braces in strings", `{"name": "f", "parameters": {"a": "}{ \" {"}}`, parts(callPart("call_1", "f", `{"a": "}{ \" {"}`))},
		{"string", `{"name": "f", "parameters": "{\"a\": 1}"}`, parts(callPart("call_1", "f", `{"a": 1}`))},

		{"other keys", `{"foo":1}`, parts(textPart(`{"foo":1}`))},
		{
			"braces do not hide a call", `use {braces} or {"foo":1}: {"name": "f", "parameters": {}}`,
			parts(textPart(`use {braces} or {"foo":1}:`), callPart("call_1", "f", `{}`)),
		},
		{"a person", `{"name": "Bob", "age": 42}`, parts(textPart(`{"name": "Bob", "age": 42}`))},
		{"without parameters", `{"name": "f"}`, parts(textPart(`{"name": "f"}`))},
		{"no object", `{"name": "f", "age"`, parts(textPart(`{"name": "f", "age"`))},
		{"escaped", `\{"name": "f", "parameters": {}}`, parts(textPart(`{"name": "f", "parameters": {}}`))},
		{
			"a semicolon behind code", `function f() { return 1 }; {"name":"f","parameters":{}} ; {"name":"g","parameters":{}}`,
			parts(textPart("function f() { return 1 };"), callPart("call_1", "f", `{}`), callPart("call_2", "g", `{}`)),
		},
		{"a semicolon behind an object", `{"a":1}; {"name":"f","parameters":{}}`, parts(textPart(`{"a":1};`), callPart("call_1", "f", `{}`))},
		{"a semicolon", `{"name": "f", "parameters": {}};`, parts(callPart("call_1", "f", `{}`), textPart(";"))},
		{"code", `<|python_tag|>print("x")`, parts(textPart(`print("x")`))},
		{"nothing", " \n", []messages.AssistantContent{}},
	} {
		requireReads(t, markdownpolicy.Llama, c.reply, c.want)
	}
}

func TestS2_12_LlamaKnownNames(t *testing.T) {
	p := markdownpolicy.Llama.With(markdownpolicy.Options{Tools: []tools.Definition{{Name: "f"}}})
	for reply, want := range map[string][]messages.AssistantContent{
		`Say {"name": "g", "parameters": {}} and {"name": "f", "parameters": {}}`: parts(
			textPart(`Say {"name": "g", "parameters": {}} and`), callPart("call_1", "f", "{}")),
		`Say {"parameters": {}, "name": "g"}`:                 parts(textPart(`Say {"parameters": {}, "name": "g"}`)),
		`{"name": "g", "parameters": {}}`:                     parts(callPart("call_1", "g", "{}")),
		`Say <|python_tag|>{"name": "g", "parameters": {}}`:   parts(textPart("Say"), callPart("call_1", "g", "{}")),
		`Say {"name": "g", "parameters": {broken} and go on.`: parts(textPart(`Say {"name": "g", "parameters": {broken} and go on.`)),
	} {
		doc, err := p.ParseResponse(reply)
		require.NoError(t, err)
		require.Equal(t, want, doc.Contents(), reply)
	}
}

func TestS2_8_LlamaModes(t *testing.T) {
	const reply = "Look:\n{\"name\":\"t\",\"parameters\":{"
	doc, err := markdownpolicy.Llama.ParseResponse(reply)
	var perr *markdownpolicy.ParseError
	require.ErrorAs(t, err, &perr)
	require.Equal(t, "llama", perr.Policy)
	require.Equal(t, 2, perr.Line)
	require.Equal(t, len(reply), perr.Offset)
	require.Contains(t, perr.Feedback(), "line 2")
	require.Equal(t, reply, doc.Parts[0].Content.(messages.Text).Text)

	doc, err = markdownpolicy.Llama.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}).ParseResponse(reply)
	require.NoError(t, err)
	require.Equal(t, parts(textPart(reply)), doc.Contents())

	doc, err = markdownpolicy.Llama.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}).ParseResponse(reply)
	require.NoError(t, err)
	require.Equal(t, parts(textPart("Look:"), callPart("call_1", "t", "{}")), doc.Contents())
	require.Len(t, doc.Repairs, 2)
	require.Equal(t, 2, doc.Repairs[0].Line)

	doc, err = markdownpolicy.Llama.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}).ParseResponse(
		reply + "\n{\"name\": \"f\", \"parameters\": {}}")
	require.NoError(t, err)
	require.Equal(t, callPart("call_1", "f", "{}"), doc.Contents()[1], "a broken call does not hide another")
}

func TestS2_8_LlamaMarksBehindHalfAMark(t *testing.T) {
	for reply, want := range map[string][]messages.AssistantContent{
		`{"\<|python_tag|>`:                  parts(textPart(`{"<|python_tag|>`)),
		"Use {\"\n<think>secret</think>":     parts(textPart(`Use {"`), messages.Thought{Text: "secret"}),
		"Use {\"\n<think>secret</think> ok.": parts(textPart(`Use {"`), messages.Thought{Text: "secret"}, textPart("ok.")),
	} {
		requireReads(t, markdownpolicy.Llama, reply, want)
	}
}

func FuzzLlama(f *testing.F) {
	fuzzTags(f, named(policies(f), "llama"), `{"name":"f","parameters":{}}; {"name":"g","arguments":"{}"}`, `\{"name":`, `<|python_tag|>{"type":"x","name":"f"`, "<think>x</think>;{", `x}; {"name": "`, `x};`,
		`{"<|python_tag|>`, `{"log":[{"name":"f","parameters":{"type":"object","properties":{}}}]} {"a":`, `<function=t>{"a":1}</function>`,
		`{"{"":"{","":{"name":"t","arguments":{}}}`, `{"{"":"{","":{"arguments":""}}`, `x {"{"":"{","":{"name":"t","arguments":{}}} y`)
}
