package markdownpolicy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func call(id, name, arguments string) messages.ToolCall {
	return messages.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func text(s string) messages.Text { return messages.Text{Text: s} }

func contents(parts ...messages.AssistantContent) []messages.AssistantContent {
	return append([]messages.AssistantContent{}, parts...)
}

// inPieces parses a reply in pieces of n bytes, and requires that the released pieces add up to the
// parts.
func inPieces(t *testing.T, p markdownpolicy.Streamer, reply string, n int) (markdownpolicy.Document, error) {
	t.Helper()
	parser := p.NewParser()
	var released []markdownpolicy.Part
	for from := 0; from < len(reply); from += n {
		released = append(released, parser.Write(reply[from:min(len(reply), from+n)])...)
	}
	doc, rest, err := parser.Close()
	var all, want strings.Builder
	for _, p := range append(released, rest...) {
		if s, ok := p.Content.(messages.Text); ok {
			all.WriteString(s.Text)
		}
	}
	for _, p := range doc.Parts {
		if s, ok := p.Content.(messages.Text); ok {
			want.WriteString(s.Text)
		}
	}
	require.Equal(t, want.String(), all.String())
	return doc, err
}

func TestS2_12_LlamaCalls(t *testing.T) {
	for _, c := range []struct {
		about, reply string
		want         []messages.AssistantContent
	}{
		{"at the start", `{"name": "f", "parameters": {"a": 1}}`, contents(call("call_1", "f", `{"a": 1}`))},
		{"arguments", "\n{ \"name\" : \"f\" , \"arguments\" : {} }\n", contents(call("call_1", "f", `{}`))},
		{"type", `{"type": "function", "name": "f", "parameters": {}}`, contents(call("call_1", "f", `{}`))},
		{"parameters first", `{"parameters": {"a": 1}, "name": "f"}`, contents(call("call_1", "f", `{"a": 1}`))},
		{"tag", `<|python_tag|>{"name": "f", "parameters": null}`, contents(call("call_1", "f", `{}`))},
		{"tag, without parameters", `<|python_tag|> {"name": "f"}`, contents(call("call_1", "f", `{}`))},
		{
			"semicolons", `{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}};{"name": "h", "parameters": {}}`,
			contents(call("call_1", "f", `{}`), call("call_2", "g", `{}`), call("call_3", "h", `{}`)),
		},
		{
			"semicolons and line breaks", "{\"name\": \"f\", \"parameters\": {}};\n{\"name\": \"g\", \"parameters\": {}}",
			contents(call("call_1", "f", `{}`), call("call_2", "g", `{}`)),
		},
		{
			"line breaks", "{\"name\": \"f\", \"parameters\": {}}\n{\"name\": \"g\", \"parameters\": {}}",
			contents(call("call_1", "f", `{}`), call("call_2", "g", `{}`)),
		},
		{
			"in prose", `I call {"name": "f", "parameters": {}} now; {"query": 1}.`,
			contents(text("I call"), call("call_1", "f", `{}`), text(`now; {"query": 1}.`)),
		},
		{
			"thought", `<think>so {"name": "g", "parameters": {}}</think>{"name": "f", "parameters": {}}`,
			contents(messages.Thought{Text: `so {"name": "g", "parameters": {}}`}, call("call_1", "f", `{}`)),
		},
		{"braces in strings", `{"name": "f", "parameters": {"a": "}{ \" {"}}`, contents(call("call_1", "f", `{"a": "}{ \" {"}`))},
		{"string", `{"name": "f", "parameters": "{\"a\": 1}"}`, contents(call("call_1", "f", `{"a": 1}`))},

		{"other keys", `{"foo":1}`, contents(text(`{"foo":1}`))},
		{
			"braces do not hide a call", `use {braces} or {"foo":1}: {"name": "f", "parameters": {}}`,
			contents(text(`use {braces} or {"foo":1}:`), call("call_1", "f", `{}`)),
		},
		{"a person", `{"name": "Bob", "age": 42}`, contents(text(`{"name": "Bob", "age": 42}`))},
		{"without parameters", `{"name": "f"}`, contents(text(`{"name": "f"}`))},
		{"no object", `{"name": "f", "age"`, contents(text(`{"name": "f", "age"`))},
		{"escaped", `\{"name": "f", "parameters": {}}`, contents(text(`{"name": "f", "parameters": {}}`))},
		{
			"a semicolon behind code", `function f() { return 1 }; {"name":"f","parameters":{}} ; {"name":"g","parameters":{}}`,
			contents(text("function f() { return 1 };"), call("call_1", "f", `{}`), call("call_2", "g", `{}`)),
		},
		{"a semicolon behind an object", `{"a":1}; {"name":"f","parameters":{}}`, contents(text(`{"a":1};`), call("call_1", "f", `{}`))},
		{"a semicolon", `{"name": "f", "parameters": {}};`, contents(call("call_1", "f", `{}`), text(";"))},
		{"code", `<|python_tag|>print("x")`, contents(text(`print("x")`))},
		{"nothing", " \n", contents()},
	} {
		doc, err := markdownpolicy.Llama.ParseResponse(c.reply)
		require.NoError(t, err, c.about)
		require.Equal(t, c.want, doc.Contents(), c.about)
		for n := 1; n < 9; n++ {
			again, err := inPieces(t, markdownpolicy.Llama, c.reply, n)
			require.NoError(t, err)
			require.Equal(t, doc, again, "%s, in pieces of %d", c.about, n)
		}
	}
}

func TestS2_12_LlamaKnownNames(t *testing.T) {
	p := markdownpolicy.Llama.With(markdownpolicy.Options{Tools: []tools.Definition{{Name: "f"}}})
	for reply, want := range map[string][]messages.AssistantContent{
		`Say {"name": "g", "parameters": {}} and {"name": "f", "parameters": {}}`: contents(
			text(`Say {"name": "g", "parameters": {}} and`), call("call_1", "f", "{}")),
		`Say {"parameters": {}, "name": "g"}`:                 contents(text(`Say {"parameters": {}, "name": "g"}`)),
		`{"name": "g", "parameters": {}}`:                     contents(call("call_1", "g", "{}")),
		`Say <|python_tag|>{"name": "g", "parameters": {}}`:   contents(text("Say"), call("call_1", "g", "{}")),
		`Say {"name": "g", "parameters": {broken} and go on.`: contents(text(`Say {"name": "g", "parameters": {broken} and go on.`)),
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
	require.Equal(t, contents(text(reply)), doc.Contents())

	doc, err = markdownpolicy.Llama.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}).ParseResponse(reply)
	require.NoError(t, err)
	require.Equal(t, contents(text("Look:"), call("call_1", "t", "{}")), doc.Contents())
	require.Len(t, doc.Repairs, 2)
	require.Equal(t, 2, doc.Repairs[0].Line)

	doc, err = markdownpolicy.Llama.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText}).ParseResponse(
		reply + "\n{\"name\": \"f\", \"parameters\": {}}")
	require.NoError(t, err)
	require.Equal(t, call("call_1", "f", "{}"), doc.Contents()[1], "a broken call does not hide another")
}

func TestS2_8_LlamaMarksBehindHalfAMark(t *testing.T) {
	for reply, want := range map[string][]messages.AssistantContent{
		`{"\<|python_tag|>`:                  contents(text(`{"<|python_tag|>`)),
		"Use {\"\n<think>secret</think>":     contents(text(`Use {"`), messages.Thought{Text: "secret"}),
		"Use {\"\n<think>secret</think> ok.": contents(text(`Use {"`), messages.Thought{Text: "secret"}, text("ok.")),
	} {
		doc, err := markdownpolicy.Llama.ParseResponse(reply)
		require.NoError(t, err)
		require.Equal(t, want, doc.Contents(), "%q", reply)
		again, err := inPieces(t, markdownpolicy.Llama, reply, 1)
		require.NoError(t, err)
		require.Equal(t, doc, again)
	}
}

func FuzzLlama(f *testing.F) {
	for _, seed := range []string{`{"name":"f","parameters":{}}; {"name":"g","arguments":"{}"}`, `\{"name":`, `<|python_tag|>{"type":"x","name":"f"`, "<think>x</think>;{", `x}; {"name": "`, `x};`} {
		f.Add(seed, 3)
	}
	f.Add(`{"<|python_tag|>`, -19)
	f.Add(`{"log":[{"name":"f","parameters":{"type":"object","properties":{}}}]} {"a":`, 2)
	f.Add(`<function=f>{"a":1}</function>`, 2)
	f.Fuzz(func(t *testing.T, reply string, n int) {
		fuzzPolicy(t, markdownpolicy.Llama, reply, n)
		fuzzPolicy(t, markdownpolicy.Llama.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair, Tools: []tools.Definition{{Name: "f"}}}), reply, n)
		roundTrip(t, markdownpolicy.Llama, reply)
	})
}

// fuzzPolicy requires that a reply in pieces gives the same result as the whole reply.
func fuzzPolicy(t *testing.T, p interface {
	markdownpolicy.Policy
	markdownpolicy.Streamer
}, reply string, n int,
) {
	doc, err := p.ParseResponse(reply)
	again, err2 := inPieces(t, p, reply, max(1, n%16))
	require.Equal(t, err, err2)
	require.Equal(t, doc, again)
	end := 0
	for _, part := range doc.Parts {
		require.True(t, part.Start >= end && part.End > part.Start && part.End <= len(reply), "%+v of %q", part, reply)
		end = part.End
	}
}

// roundTrip requires that a text rendered between two calls is read back unchanged.
func roundTrip(t *testing.T, p interface {
	markdownpolicy.Policy
	markdownpolicy.Renderer
}, reply string,
) {
	parts := contents(call("call_1", "f", `{"a":"\n"}`), messages.Thought{Text: "t"})
	if s := strings.Trim(reply, " \t\r\n\v\f"); s != "" {
		parts = contents(text(s), call("call_1", "f", `{"a":"\n"}`), text(s), messages.Thought{Text: s}, call("call_2", "f-g", `{}`), text(s))
	}
	doc, err := p.ParseResponse(p.Render(parts))
	require.NoError(t, err)
	require.Equal(t, parts, doc.Contents(), "%q", p.Render(parts))
}

// What is within an object that is no JSON does not depend on how much of the reply has come.
func TestS2_20_LlamaObjectsWithinWhatIsNoJSON(t *testing.T) {
	for _, reply := range []string{
		`{"{"":"{","":{"name":"t","arguments":{}}}`, `{"{"":"{","":{"arguments":""}}`, `x {"{"":"{","":{"name":"t","arguments":{}}} y`,
	} {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			llama := markdownpolicy.Llama.With(markdownpolicy.Options{Mode: mode})
			whole, err := llama.ParseResponse(reply)
			for cut := range reply {
				p := llama.NewParser()
				p.Write(reply[:cut])
				p.Write(reply[cut:])
				doc, _, cutErr := p.Close()
				require.Equal(t, whole, doc, "%s: cut at %d", reply, cut)
				require.Equal(t, err, cutErr, "%s: cut at %d", reply, cut)
			}
		}
	}
}
