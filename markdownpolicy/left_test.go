package markdownpolicy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/tools"
)

var leftTools = []tools.Definition{
	{Name: "convert", Parameters: []byte(`{"type":"object","properties":{"amount":{"type":"number"},"from":{"type":"string"},"to":{"type":"string"}},"required":["amount","from","to"],"additionalProperties":false}`)},
	{Name: "list_rooms", Parameters: []byte(`{"type":"object","properties":{"day":{"type":"string"},"hour":{"type":"integer"}},"required":["day"]}`)},
	{Name: "save_note", Parameters: []byte(`{"type":"object","properties":{"title":{"type":"string"},"text":{"type":"string"}},"required":["title","text"]}`)},
	{Name: "now"},
}

// left reads a text and writes what was found: the text before it, and the calls or the problem.
func left(text string) string {
	found, ok := markdownpolicy.NewLeftCalls(leftTools).Read(text)
	if !ok {
		return "text"
	}
	if found.Problem != "" {
		return "wrong: " + found.Problem
	}
	out := []string{strings.TrimSpace(text[:found.Start])}
	for _, c := range found.Calls {
		out = append(out, c.Name+c.Arguments)
	}
	return strings.Join(out, "|")
}

const (
	monday  = `{"name": "list_rooms", "arguments": {"day": "Monday"}}`
	tuesday = `{"name": "list_rooms", "arguments": {"day": "Tuesday"}}`
)

var leftRead = map[string]string{
	monday:                                    `|list_rooms{"day": "Monday"}`,
	"```json\n" + monday + "\n```":            `|list_rooms{"day": "Monday"}`,
	"```\n" + monday + "\n```\n\n":            `|list_rooms{"day": "Monday"}`,
	"~~~tool_call\n" + monday + "\n~~~":       `|list_rooms{"day": "Monday"}`,
	"```json\n" + monday:                      `|list_rooms{"day": "Monday"}`,
	"I look.\n\n```json\n" + monday + "\n```": `I look.|list_rooms{"day": "Monday"}`,
	"Look:\n" + monday:                        `Look:|list_rooms{"day": "Monday"}`,
	`{"name": "list_rooms", "arguments": {"day": "Monday", "hour": null}}`: `|list_rooms{"day": "Monday", "hour": null}`,
	monday + "\n" + tuesday:                                                                  `|list_rooms{"day": "Monday"}|list_rooms{"day": "Tuesday"}`,
	monday + ",\n" + tuesday:                                                                 `|list_rooms{"day": "Monday"}|list_rooms{"day": "Tuesday"}`,
	"[" + monday + ", " + tuesday + "]":                                                      `|list_rooms{"day": "Monday"}|list_rooms{"day": "Tuesday"}`,
	"```json\n" + monday + "\n```\n```json\n" + tuesday + "\n```":                            `|list_rooms{"day": "Monday"}|list_rooms{"day": "Tuesday"}`,
	"```json\n" + monday + "\n" + tuesday + "\n```":                                          `|list_rooms{"day": "Monday"}|list_rooms{"day": "Tuesday"}`,
	"{" + monday + "}":                                                                       `|list_rooms{"day": "Monday"}`,
	`{{"name": "list_rooms", "arguments": {{"day": "Monday"}}}}`:                             `|list_rooms{"day": "Monday"}`,
	"```json\n{{\"name\": \"now\", \"arguments\": {{}}}}\n```":                               `|now{}`,
	"{\n  \"name\": \"list_rooms\",\n  \"parameters\": {\n    \"day\": \"Monday\"\n  }\n}\n": "|list_rooms{\n    \"day\": \"Monday\"\n  }",
	`{"name": "now"}`:                                                                        `|now{}`,
	`{"name": "list_rooms", "arguments": "{\"day\": \"Monday\"}"}`:                           `|list_rooms{"day": "Monday"}`,
	"<tool_call>\n" + monday + "\n</tool_call>":                                              `|list_rooms{"day": "Monday"}`,
	"<tool_call>\n" + monday + "\n</tool_call>\n<tool_call>" + tuesday + "</tool_call>\n":    `|list_rooms{"day": "Monday"}|list_rooms{"day": "Tuesday"}`,

	"<tool_call>\n" + monday:                                                               `|list_rooms{"day": "Monday"}`,
	"```xml\n<tool_call>\n" + monday + "\n</tool_call>\n```":                               `|list_rooms{"day": "Monday"}`,
	"<tool_call><name>now</name><arguments>{}</arguments></tool_call>":                     `|now{}`,
	"<tool_call>list_rooms<arg_key>day</arg_key><arg_value>Monday</arg_value></tool_call>": `|list_rooms{"day":"Monday"}`,
	"<function=list_rooms>\n<parameter=day>\nMonday\n</parameter>\n</function>":            `|list_rooms{"day":"Monday"}`,
	"So.\n<function=list_rooms>{\"day\": \"Monday\"}</function>":                           `So.|list_rooms{"day": "Monday"}`,
	"<list_rooms><day>Monday</day></list_rooms>":                                           `|list_rooms{"day":"Monday"}`,
	"[TOOL_CALLS][" + monday + "]":                                                         `|list_rooms{"day": "Monday"}`,
	"<|python_tag|>" + monday:                                                              `|list_rooms{"day": "Monday"}`,
	`list_rooms(day="Monday")`:                                                             `|list_rooms{"day":"Monday"}`,
	`[list_rooms(day="Monday"), now()]`:                                                    `|list_rooms{"day":"Monday"}|now{}`,
	"```python\nlist_rooms(day='Monday')\n```":                                             `|list_rooms{"day":"Monday"}`,
	"list_rooms(day=\"Monday\")\nlist_rooms(day=\"Tuesday\")":                              `|list_rooms{"day":"Monday"}|list_rooms{"day":"Tuesday"}`,
	"First an example:\n```json\n{\"name\": \"Ada\"}\n```\nNow the call:\n" + monday:       "First an example:\n```json\n{\"name\": \"Ada\"}\n```\nNow the call:|list_rooms{\"day\": \"Monday\"}",
	"As " + monday + " shows.\n\n" + tuesday:                                               "As " + monday + " shows.|list_rooms{\"day\": \"Tuesday\"}",
	"```go\nfmt.Println(1)\n```\n" + monday:                                                "```go\nfmt.Println(1)\n```|list_rooms{\"day\": \"Monday\"}",
}

func TestLeftCalls_areRead(t *testing.T) {
	for text, want := range leftRead {
		require.Equal(t, want, left(text), text)
		said, _, _ := strings.Cut(want, "|")
		l, held := markdownpolicy.NewLeftCalls(leftTools), 0
		for i := range text {
			at := l.Held(text[:i])
			require.GreaterOrEqual(t, at, held, "%q", text[:i])
			require.LessOrEqual(t, at, len(said), "%q: a part of the call was released", text[:i])
			held = at
		}
		found, ok := l.Read(text)
		require.True(t, ok)
		require.Equal(t, said, strings.TrimSpace(text[:found.Start]), "in pieces as at once")
	}
}

// A result that the model invents after its call ends the reply.
func TestLeftCalls_endAtInventedResults(t *testing.T) {
	for _, invented := range []string{
		"\n<tool_response>\nLinden\n</tool_response>\nLinden is free.", "\n\n```tool_result name=\"list_rooms\"\nLinden\n```\nLinden is free.", "\n<tool_result>Linden",
	} {
		for _, call := range []string{monday, "```json\n" + monday + "\n```", "<tool_call>" + monday + "</tool_call>"} {
			require.Equal(t, `So.|list_rooms{"day": "Monday"}`, left("So.\n"+call+invented))
		}
		require.Equal(t, "text", left("Rooms:"+invented), "without a call it is text")
	}
}

func TestLeftCalls_stayText(t *testing.T) {
	for _, text := range []string{
		"", "Linden is free.", "Write " + monday + " to look.", "Write:\n" + monday + "\nThen wait.", monday + " is a call.",
		"```json\n" + monday + "\n```\nThis lists the rooms.", "> " + monday, "> ```json\n> " + monday + "\n> ```", "    " + monday, "`" + monday + "`", `"` + monday + `"`,
		"- " + monday, "1. `" + monday + "`", "````markdown\n```json\n" + monday + "\n```\n````", "```go\n" + monday + "\n```",
		`{"name": "Ada", "age": 36}`, `{"name": "Oslo"}`, "```json\n[{\"name\": \"Ada\", \"age\": 36}, {\"name\": \"Ben\", \"age\": 4}]\n```",
		"```json\n{\"name\": \"list_rooms\", \"description\": \"Lists rooms.\", \"parameters\": {\"type\": \"object\", \"properties\": {\"day\": {\"type\": \"string\"}}}}\n```",
		`{"rooms": ["Linden"], "day": "Monday"}`, "[1, 2]", "[the list](list.md)", "```python\nprint(day=\"Monday\")\n```",
		"```python\ndef convert(amount):\n    return amount * 2\n\nconvert(3)\n```", "now is the time (of day)", "<b>Linden</b>", "Use `list_rooms(day=\"Monday\")`.",
		"<tool_call>" + monday + "</tool_call> does it.", "The tag <tool_call>" + monday + "</tool_call>", "Result:\n```\nLinden\n```",
	} {
		require.Equal(t, "text", left(text), text)
	}
}

// What is plainly a call, and cannot be made, has a problem that the model can be told.
func TestLeftCalls_wrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "send_mail", "arguments": {"to": "Sol"}}`:                        `of the tool "send_mail", which does not exist; the tools are: "convert", "list_rooms", "save_note", "now"`,
		"I do it.\n```json\n{\"name\": \"send_mail\", \"parameters\": {}}\n```":    `of the tool "send_mail", which does not exist`,
		`{"name": "list_rooms", "arguments": {"date": "Monday"}}`:                  `of the tool "list_rooms" whose arguments do not fit: `,
		monday + "\n" + `{"name": "convert", "arguments": {"amount": "five"}}`:     `of the tool "convert" whose arguments do not fit: `,
		`{"name": "list_rooms", "arguments": {"day": null}}`:                       `"list_rooms" whose arguments do not fit: `,
		`{"name": "list_rooms"}`:                                                   `"list_rooms" whose arguments do not fit: `,
		"<tool_call>\n{\"name\": \"send_mail\", \"arguments\": {}}\n</tool_call>":  `"send_mail", which does not exist`,
		"<tool_call>\nMonday!\n</tool_call>":                                       `cannot be read: `,
		"<function=send_mail>\n<parameter=to>Sol</parameter>\n</function>":         `"send_mail", which does not exist`,
		`{"name": "list_rooms", "arguments": {"day": "Monday"}, "why": "to know"}`: `cannot be read: `,
		`[list_rooms("Monday")]`:                                                   `cannot be read: `,
		`list_rooms("Monday")`:                                                     `cannot be read: `,
	} {
		require.Contains(t, left(text), want, text)
		require.Contains(t, left(text), "wrong: ", text)
	}
}

// A text that arrives in pieces is held back only as far as it may still be calls, and what is held
// at its end is what is read.
func TestLeftCalls_hold(t *testing.T) {
	for _, c := range []struct {
		text, after string // what is held after the whole text
	}{
		{"Linden", ""},
		{"Linden\n", "\n"},
		{"Linden {", ""},
		{"Linden\n{", "\n{"},
		{"Linden\n{ \"na", "\n{ \"na"},
		{"{\"rooms\"", ""},
		{"{\"name\": \"Ada\", \"age\": 36}", "{\"name\": \"Ada\", \"age\": 36}"},
		{monday + " is", ""},
		{monday + "\n\nThis", ""},
		{monday + "\n\n", monday + "\n\n"},
		{"``", "``"},
		{"```js", "```js"},
		{"```go\n", ""},
		{"```json\n", "```json\n"},
		{"```json\n[1", ""},
		{"```json\n{\"na", "```json\n{\"na"},
		{"<", "<"},
		{"<b", ""},
		{"<tool_c", "<tool_c"},
		{"lis", "lis"},
		{"list of", ""},
		{"list_rooms(day=\"", "list_rooms(day=\""},
		{"[Lin", ""},
		{"[now", "[now"},
		{"nowhere", ""},
		{monday + "\n<tool_resp", monday + "\n<tool_resp"},
		{monday + "\n<tool_response>\nLinden is free.", monday + "\n<tool_response>\nLinden is free."},
	} {
		l := markdownpolicy.NewLeftCalls(leftTools)
		for i := range c.text {
			l.Held(c.text[:i])
		}
		require.Equal(t, c.after, c.text[l.Held(c.text):], "%q", c.text)
	}
}
