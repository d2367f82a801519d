package markdownpolicy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

func TestStructured_reads(t *testing.T) {
	for reply, want := range map[string][]messages.AssistantContent{
		`{"reply": {"tool": "add", "arguments": {"x": 1}}}`:                                            parts(callPart("call_1", "add", `{"x": 1}`)),
		"{\n  \"reply\": [\n    {\"tool\": \"add\",\n \"arguments\": {}}, {\"tool\":\"sub\"}\n ]\n}\n": parts(callPart("call_1", "add", "{}"), callPart("call_2", "sub", "{}")),
		`{"reply": {"answer": "It is \"42\".\nSo \u00e9\ud83d\ude00\\ it is."}}`:                       parts(textPart("It is \"42\".\nSo é😀\\ it is.")),
		`{"thought": "Look: {\"a\"}", "reply": {"answer": "yes"}}`:                                     parts(thoughtPart(`Look: {"a"}`), textPart("yes")),
		`{"reply": {"answer": {"n": [1, "}"]}}}`:                                                       parts(textPart(`{"n": [1, "}"]}`)),
		`{"reply": {"answer": [1,2]}}`:                                                                 parts(textPart(`[1,2]`)),
		`{"reply": {"answer": 42}}`:                                                                    parts(textPart("42")),
		`{"reply": {"answer":null }}`:                                                                  parts(textPart("null")),
		`{"reply": {"answer": ""}}`:                                                                    nil,
		`{"reply": "yes"}`:                                                                             parts(textPart("yes")),
		`{"answer": "yes"}`:                                                                            parts(textPart("yes")),
		`{"tool": "add", "arguments": {"x": 1}}`:                                                       parts(callPart("call_1", "add", `{"x": 1}`)),
		`[{"tool": "add", "arguments": {}}, {"tool": "sub"}]`:                                          parts(callPart("call_1", "add", "{}"), callPart("call_2", "sub", "{}")),
		"```json\n{\"reply\": {\"tool\": \"add\"}}\n```":                                               parts(callPart("call_1", "add", "{}")),
		"```\n{\"tool\": \"add\", \"arguments\": {}}\n```\n":                                           parts(callPart("call_1", "add", "{}")),
		"I add.\n\n```json\n{\"reply\": {\"answer\": \"```\"}}\n``` Done.":                             parts(textPart("I add.\n\n``` Done.")),
		"{\"tool\": \"add\", \"arguments\": {}}\n{\"tool\": \"sub\", \"arguments\":{}}":                parts(callPart("call_1", "add", "{}"), callPart("call_2", "sub", "{}")),
		`{"reply": {"answer": "It is 4`:                                                                parts(textPart("It is 4")),
		`{"reply": {"answer": "\ud83d`:                                                                 parts(textPart("\ufffd")),
		`{"reply": {"answer": "\x \u12"}}`:                                                             parts(textPart(`\x \u12`)),
		"{\"reply\": {\"answer\": \"a\nb\"}}":                                                          parts(textPart("a\nb")),
		// Text that only looks like it stays text.
		`Write {"answer": "yes"} there.`:   parts(textPart(`Write {"answer": "yes"} there.`)),
		`{"tool": "Ann", "arguments": {}}`: parts(textPart(`{"tool": "Ann", "arguments": {}}`)),
		`{"tool": "add"}`:                  parts(textPart(`{"tool": "add"}`)),
		`{"name": "add", "arguments": {}}`: parts(textPart(`{"name": "add", "arguments": {}}`)),
		"> {\"tool\": \"add\"}":            parts(textPart("> {\"tool\": \"add\"}")),
		"```go\nx := 1\n```":               parts(textPart("```go\nx := 1\n```")),
		"[1, 2]":                           parts(textPart("[1, 2]")),
	} {
		doc, err := markdownpolicy.Structured{}.WithTools([]tools.Definition{{Name: "add"}, {Name: "sub"}}).ParseResponse(reply)
		require.NoError(t, err, reply)
		if want == nil {
			require.Empty(t, doc.Parts, reply)
			continue
		}
		require.Equal(t, want, doc.Contents(), reply)
	}
}

func TestStructured_unreadable(t *testing.T) {
	for reply, expected := range map[string]string{
		`{"reply": {"tool": "add", "arguments": {"x": `:           `a JSON object {"tool": …, "arguments": {…}}`,
		`{"reply": {"tool": "add", "arguments": [1]}}`:            `"arguments" of "add" to be a JSON object`,
		`{"reply": {"tool": "add", "x": 1}}`:                      `the arguments of "add" as a JSON object under "arguments"`,
		`{"reply": {"tool": 1}}`:                                  `"tool" the name of a tool`,
		`{"reply": {"function": "add"}}`:                          `a JSON object {"reply": …}`,
		`{"reply": {"answer": "a", "tool": "add"}}`:               `a JSON object {"reply": …}`,
		`{"reply": [{"tool":"add","arguments":{"x":1}},"y":2}]}`:  `a JSON object {"reply": …}`,
		`{"thought": {"text": "a"}, "reply": {"tool": "add"}}`:    `a JSON object {"reply": …}`,
		"{\"reply\": {\"tool\": \"add\", \"arguments\": {x: 1}}}": `a JSON object {"tool": …, "arguments": {…}}`,
	} {
		_, err := markdownpolicy.Structured{}.ParseResponse(reply)
		broken, ok := errors.AsType[*markdownpolicy.ParseError](err)
		require.True(t, ok, reply)
		require.Contains(t, broken.Expected, expected, reply)
	}
	doc, err := markdownpolicy.Structured{Options: markdownpolicy.Options{Mode: markdownpolicy.ModeRepair}}.ParseResponse(`{"reply": {"tool": "add", "arguments": {"x": "1"`)
	require.NoError(t, err)
	require.True(t, doc.Parts[0].Open)
	require.Equal(t, parts(callPart("call_1", "add", `{"x":"1"}`)), doc.Contents())
}

// What follows a reply within its brackets stays text where nothing is refused.
func TestStructured_losesNothing(t *testing.T) {
	p := markdownpolicy.Structured{Options: markdownpolicy.Options{Mode: markdownpolicy.ModeText}}
	for reply, text := range map[string]string{
		`[{"reply": {"tool": "A"}}"parameters":{`:       `"parameters":{`,
		`{"reply": {"tool": "A"}, "note": "done"}`:      `"note": "done"}`,
		`{"reply": {"tool": "A"}, "tool": "B"}`:         `"tool": "B"}`,
		`{"reply": {"thought": "t", "function": "add"}`: `"function": "add"}`,
		`{"reply": {"tool": "A"}, "thought":  42}`:      `"thought":  42}`,
		`[{"reply": {"tool": "A"}, "reply": true}]`:     `"reply": true}]`,
		`{"reply": {"tool": "A"}, "answer": }`:          `"answer": }`,
	} {
		doc, err := p.ParseResponse(reply)
		require.NoError(t, err)
		require.Equal(t, textPart(text), doc.Contents()[1], reply)
	}
}

// An answer is released with each piece, as far as its characters are whole; a call when it is.
func TestStructured_streams(t *testing.T) {
	p := markdownpolicy.Structured{}.NewParser()
	for _, step := range [][2]string{
		{`{"thou`, ""}, {`ght": "Hm`, ""}, {`m.", "re`, "Hmm."}, {`ply": {"answer`, ""}, {`": "It i`, "It i"}, {`s\`, "s"}, {`n4`, "\n4"}, {`2\ud83d`, "2"}, {`\ude0`, ""}, {`0 `, "😀"}, {`"}`, ""}, {`}`, ""},
	} {
		said := ""
		for _, part := range p.Write(step[0]) {
			switch c := part.Content.(type) {
			case messages.Text:
				said += c.Text
			case messages.Thought:
				said += c.Text
			}
		}
		require.Equal(t, step[1], said, step[0])
	}
	p = markdownpolicy.Structured{}.NewParser()
	require.Empty(t, p.Write(`{"reply": {"answer": `))
	require.Equal(t, textPart(`{"a": "x`), p.Write(`{"a": "x`)[0].Content, "JSON as it is written")
	require.Equal(t, textPart(`"}`), p.Write(`"}}}`)[0].Content)
	p = markdownpolicy.Structured{}.NewParser()
	require.Empty(t, p.Write(`{"reply": [{"tool": "add", "arguments": {"x": 1`))
	require.Equal(t, callPart("call_1", "add", `{"x": 1}`), p.Write(`}},`)[0].Content)
}

const (
	structuredAdd = `{"type":"object","properties":{"tool":{"type":"string","enum":["add"]},"arguments":` +
		`{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}},"required":["tool","arguments"],"additionalProperties":false}`
	structuredNow = `{"type":"object","properties":{"tool":{"type":"string","enum":["now"]},"arguments":{"type":"object","properties":{}}},` +
		`"required":["tool","arguments"],"additionalProperties":false}`
	structuredText = `{"type":"object","properties":{"answer":{"type":["string","number","boolean"]}},"required":["answer"],"additionalProperties":false}`
	structuredCall = `{"$ref":"#/$defs/call"},{"type":"array","items":{"$ref":"#/$defs/call"},"minItems":1,"maxItems":8}`
)

var structuredTools = []tools.Definition{
	{Name: "add", Parameters: []byte(`{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}`)},
	{Name: "now"},
}

func TestStructured_ReplySchema(t *testing.T) {
	root := func(branches string) string {
		return `{"type":"object","properties":{"reply":{"anyOf":[` + branches + `]}},"required":["reply"],"additionalProperties":false`
	}
	calls := `,"$defs":{"call":{"anyOf":[` + structuredAdd + "," + structuredNow + "]}}}"
	for name, c := range map[string]struct {
		defs   []tools.Definition
		must   bool
		answer string
		want   string
	}{
		"calls or an answer": {defs: structuredTools, want: root(structuredCall+","+structuredText) + calls},
		"a call":             {defs: structuredTools, must: true, want: root(structuredCall) + calls},
		"an answer":          {want: root(structuredText) + "}"},
		"an answer of a schema": {
			answer: `{"type": "integer"}`,
			want:   root(strings.Replace(structuredText, `["string","number","boolean"]`, `"integer"`, 1)) + "}",
		},
		"references": {
			defs:   []tools.Definition{{Name: "add", Parameters: []byte(`{"$defs":{"n":{"type":"number"},"$ref":{"$ref":"#"}},"type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"required":["x"]}`)}},
			answer: `{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#"}},{"$ref":"https://example.com/x"}]}`,
			want: root(structuredCall+","+strings.Replace(structuredText, `{"type":["string","number","boolean"]}`, `{"$ref":"#/$defs/answer"}`, 1)) + `,"$defs":{` +
				`"t0":{"$defs":{"n":{"type":"number"},"$ref":{"$ref":"#/$defs/t0"}},"type":"object","properties":{"x":{"$ref":"#/$defs/t0/$defs/n"}},"required":["x"]},` +
				`"call":{"anyOf":[{"type":"object","properties":{"tool":{"type":"string","enum":["add"]},"arguments":{"$ref":"#/$defs/t0"}},"required":["tool","arguments"],"additionalProperties":false}]},` +
				`"answer":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/answer"}},{"$ref":"https://example.com/x"}]}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var answer json.RawMessage
			if c.answer != "" {
				answer = json.RawMessage(c.answer)
			}
			require.Equal(t, c.want, string(markdownpolicy.Structured{}.ReplySchema(c.defs, c.must, answer)))
		})
	}
	thinking := markdownpolicy.Structured{Thoughts: true}
	require.True(t, strings.HasPrefix(string(thinking.ReplySchema(nil, false, nil)), `{"type":"object","properties":{"thought":{"type":"string"},"reply":`))
	require.Contains(t, thinking.FormatInstructions(structuredTools), `{"thought": TEXT, "reply": `)
	require.Empty(t, thinking.FormatInstructions(nil))
}

// A policy made of others has the schema of the one whose instructions it gives.
func TestReplySchema_ofOthers(t *testing.T) {
	want := markdownpolicy.Structured{}.ReplySchema(structuredTools, false, nil)
	require.Equal(t, want, markdownpolicy.Think{Policy: markdownpolicy.Structured{}}.ReplySchema(structuredTools, false, nil))
	require.Equal(t, want, markdownpolicy.Chain{markdownpolicy.Structured{}, markdownpolicy.Fenced}.ReplySchema(structuredTools, false, nil))
	require.Nil(t, markdownpolicy.Chain{markdownpolicy.Fenced, markdownpolicy.Structured{}}.ReplySchema(structuredTools, false, nil))
	require.Nil(t, markdownpolicy.Think{}.ReplySchema(structuredTools, false, nil))
}

// What is rendered of calls, or of an answer, fits the schema, and what does not fit a tool does
// not.
func TestStructured_rendersWhatTheSchemaAllows(t *testing.T) {
	fits := func(p markdownpolicy.Structured, text string) bool {
		var schema any
		require.NoError(t, json.Unmarshal(p.ReplySchema(structuredTools, false, nil), &schema))
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("reply", schema))
		compiled, err := c.Compile("reply")
		require.NoError(t, err)
		return compiled.Validate(valueOf(t, text)) == nil
	}
	rapid.Check(t, func(t *rapid.T) {
		p := markdownpolicy.Structured{Thoughts: rapid.Bool().Draw(t, "thoughts")}
		said := []messages.AssistantContent{textPart("So: " + prose.Draw(t, "text"))}
		if n := rapid.IntRange(0, 3).Draw(t, "calls"); n > 0 {
			said = nil
			for range n {
				said = append(said, rapid.SampledFrom(parts(callPart("", "add", `{"x":1}`), callPart("", "now", "{}"))).Draw(t, "call"))
			}
		}
		if p.Thoughts {
			said = append(parts(thoughtPart("Hm.")), said...)
		}
		require.True(t, fits(p, strings.ToValidUTF8(p.Render(said), "")), p.Render(said))
	})
	require.False(t, fits(markdownpolicy.Structured{}, markdownpolicy.Structured{}.Render(parts(callPart("", "add", `{"x":"1"}`)))))
	require.False(t, fits(markdownpolicy.Structured{}, markdownpolicy.Structured{}.Render(parts(callPart("", "drop", `{}`)))))
}

// Past calls are told in sentences: a model that sees them as JSON writes them again.
func TestStructured_tellsThePastInSentences(t *testing.T) {
	result := func(id, name, output string, status messages.Status, reason string) messages.Tool {
		return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: name, Output: output, Status: status, Reason: reason}}
	}
	calls := func(calls ...messages.AssistantContent) messages.Assistant { return messages.Assistant{Content: calls} }
	h := messages.History{
		messages.UserText("Work."),
		calls(thoughtPart("Both."), textPart("I look."), callPart("a", "add", `{"x": 1, "list": ["b"]}`), callPart("b", "now", `{}`)),
		result("b", "now", "noon", messages.StatusOK, ""),
		result("a", "add", "2", messages.StatusOK, ""),
		calls(callPart("c", "add", `{"x":`)),
		result("c", "add", "x is missing", messages.StatusFailed, tools.ReasonArguments),
		calls(callPart("d", "add", "")),
		result("d", "add", "not allowed", messages.StatusFailed, "refused"),
	}
	const next = "\n\nThe task was: Work.\nReply with the next call that it needs. If every part of it is done, reply with the answer."
	want := []string{
		"Work.",
		"Both.\nI look.\nI use the tool add with x = 1, list = [\"b\"].\nI use the tool now with no arguments.",
		"The tool add returned:\n2\n\nThe tool now returned:\nnoon" + next,
		`I use the tool add with "{\"x\":".`,
		"The tool add has no result, failed (arguments):\nx is missing\n\nCorrect the arguments and try again.",
		"I use the tool add with no arguments.",
		"The tool add has no result, failed (refused):\nnot allowed" + next,
	}
	for _, p := range []markdownpolicy.Policy{markdownpolicy.Structured{}, markdownpolicy.Think{Policy: markdownpolicy.Structured{}}} {
		told, err := p.FormatQuery(h)
		require.NoError(t, err)
		require.Len(t, told, len(want))
		for i, m := range told {
			switch m := m.(type) {
			case messages.User:
				require.Equal(t, want[i], m.Text())
			case messages.Assistant:
				require.Equal(t, want[i], m.Text())
			}
		}
	}
}

func FuzzStructured(f *testing.F) {
	fuzzTags(f, named(policies(f), "structured"), `{"thought": "a", "reply": {"answer": "b\ud83d\ude00"}}`, `a {"reply": [{"tool":"t","arguments":{"a":1}}, {"answer": {"b": []}}]}`,
		"```json\n{\"tool\": \"t\"}\n```", `{"reply": {"answer": 1, "tool": "t"}}`, `[{"answer":"\u12\x"}`)
}

// A history that begins with a result is refused by its law.
func TestStructured_unlawfulHistory(t *testing.T) {
	_, err := markdownpolicy.Structured{}.FormatQuery(messages.History{messages.Tool{ToolOutput: messages.ToolOutput{CallID: "1"}}})
	var broken *messages.LawError
	require.ErrorAs(t, err, &broken)
}
