package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

func TestS2_6_MistralReadsCalls(t *testing.T) {
	a, b := callPart("call_1", "a", `{"x":"[1]"}`), callPart("call_2", "b", "{}")
	for _, c := range []struct {
		name, reply string
		want        []messages.AssistantContent
	}{
		{"an array", `Hi [TOOL_CALLS] [{"name":"a","arguments":{"x":"[1]"}}, {"name":"b"}]`, parts(textPart("Hi"), a, b)},
		{"with its end", `[TOOL_CALLS][{"name":"a","arguments":{"x":"[1]"}},{"name":"b"}][/TOOL_CALLS] bye`, parts(a, b, textPart("bye"))},
		{"an object", `[TOOL_CALLS]{"name":"a","arguments":{"x":"[1]"}}`, parts(a)},
		{"names", `[TOOL_CALLS]a{"x":"[1]"}[TOOL_CALLS]b{} bye`, parts(a, b, textPart("bye"))},
		{"names with marks", `[TOOL_CALLS]a[ARGS]{"x":"[1]"}[TOOL_CALLS]b[CALL_ID]9[ARGS]{}`, parts(a, b)},
		{"an empty array", `Hi [TOOL_CALLS][]`, parts(textPart("Hi"))},
		{"thoughts", "[THINK]x[/THINK]y[THINK]z", parts(thoughtPart("x"), textPart("y"), thoughtPart("z"))},
		{"escaped", `\[TOOL_CALLS] \[THINK]`, parts(textPart(`[TOOL_CALLS] [THINK]`))},
		{"no mark", `[TOOL_CALLS [1] [ARGS]`, parts(textPart(`[TOOL_CALLS [1] [ARGS]`))},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireReads(t, markdownpolicy.Mistral, c.reply, c.want)
		})
	}
}

func TestS2_8_MistralByMode(t *testing.T) {
	for _, c := range []struct {
		reply, expected string
		repaired        []messages.AssistantContent // nil if it is refused
	}{
		{`[TOOL_CALLS][{"name":"a","arguments":{"x":"y"`, "a JSON object", parts(callPart("call_1", "a", `{"x":"y"}`))},
		{`[TOOL_CALLS]a[ARGS]{"x":"y"`, `the arguments of "a"`, parts(callPart("call_1", "a", `{"x":"y"}`))},
		{`[TOOL_CALLS]some words {"x":1}`, "the name of a tool", nil},
		{`[TOOL_CALLS]search[ARGS] I think that {"a":1}`, "[ARGS] or nothing", nil},
		{`[TOOL_CALLS]search I think [ARGS]{"a":1}`, "the name of a tool", nil},
		{`[TOOL_CALLS]search[CALL_ID]9 or 8[ARGS]{"a":1}`, "the name of a tool", nil},
		{`[TOOL_CALLS][`, "a JSON", nil},
		{`[TOOL_CALLS] none`, "a JSON array", nil},
		{`[TOOL_CALLS][1]`, "a JSON object", nil},
	} {
		requireByMode(t, inMode(markdownpolicy.Mistral), c.reply, c.expected, 0, c.reply, c.repaired)
	}
}

func TestMistralArrayWithoutMark(t *testing.T) {
	const array = `[ {"name":"read_file","arguments":{"path":"x"}}]`
	read := callPart("call_1", "read_file", `{"path":"x"}`)
	mistral := markdownpolicy.Mistral.With(markdownpolicy.Options{Tools: fileTools})
	for reply, want := range map[string][]messages.AssistantContent{
		"\n" + array + "\nbye":      parts(read, textPart("bye")),
		"Look: " + array:            parts(textPart("Look: " + array)),
		`[{"name":"unknown"}]`:      parts(textPart(`[{"name":"unknown"}]`)),
		`[{"name":"read_file"} `:    parts(textPart(`[{"name":"read_file"}`)),
		`[{"a":1}] [TOOL_CALLS]x{}`: parts(textPart(`[{"a":1}]`), callPart("call_1", "x", "{}")),
		`\` + array:                 parts(textPart(array)),
		`\\` + array:                parts(textPart(`\` + array)),
		`\[1]`:                      parts(textPart(`\[1]`)),
		"[special delivery]":        parts(textPart("[special delivery]")),
		"[":                         parts(textPart("[")),
	} {
		requireReads(t, mistral, reply, want)
	}
	require.Equal(t, parts(textPart(array)), partsOf(t, markdownpolicy.Mistral, array))

	mistral.Mode = markdownpolicy.ModeRepair
	doc, err := mistral.ParseResponse(array + "]")
	require.NoError(t, err)
	require.Equal(t, parts(read), doc.Contents())
	require.Len(t, doc.Repairs, 1)
}
