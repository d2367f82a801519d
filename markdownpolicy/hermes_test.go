package markdownpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

func TestS2_6_HermesReadsCalls(t *testing.T) {
	const call = `{"name":"t","arguments":{"a":"</tool_call>"}}`
	read := callPart("call_1", "t", `{"a":"</tool_call>"}`)
	for _, c := range []struct {
		name, reply string
		want        []messages.AssistantContent
	}{
		{"one", "a<tool_call>\n" + call + "\n</tool_call>b", parts(textPart("a"), read, textPart("b"))},
		{"two", "<tool_call>" + call + "</tool_call>\n<tool_call>{\"name\":\"u\"}</tool_call>", parts(read, callPart("call_2", "u", "{}"))},
		{"two in one", "<tool_call>" + call + "\n{\"name\":\"u\"}</tool_call>", parts(read, callPart("call_2", "u", "{}"))},
		{"a list", "<tool_call>[" + call + ", {\"name\":\"u\"}]</tool_call>", parts(read, callPart("call_2", "u", "{}"))},
		{"a list without its end", "<tool_call>[" + call + "</tool_call>", parts(read)},
		{"unclosed", "<tool_call>" + call, parts(read)},
		{"cut within the closing tag", "<tool_call>" + call + "</tool_", parts(read)},
		{"arguments first", `<tool_call>{"arguments":{},"name":"t"}</tool_call>`, parts(callPart("call_1", "t", "{}"))},
		{"parameters", `<tool_call>{"name":"t","parameters":{"x":1}}</tool_call>`, parts(callPart("call_1", "t", `{"x":1}`))},
		{"a string that holds an object", `<tool_call>{"name":"t","arguments":"{\"x\":1}"}</tool_call>`, parts(callPart("call_1", "t", `{"x":1}`))},
		{"a function", `<tool_call>{"type":"function","function":{"name":"t","arguments":{"x":1}}}</tool_call>`, parts(callPart("call_1", "t", `{"x":1}`))},
		{"a name as the key", `<tool_call>{"read_file":{"path":"x"}}</tool_call>`, parts(callPart("call_1", "read_file", `{"path":"x"}`))},
		{
			"Qwen-Coder", "<tool_call>\n<function=read_file>\n<parameter=path>\n</parameter> x\n</parameter>\n<parameter=from>\n3\n</parameter>\n</function>\n</tool_call>",
			parts(callPart("call_1", "read_file", `{"path":"</parameter> x","from":3}`)),
		},
		{
			"GLM", "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>3</arg_value>\n<arg_key>from</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
			parts(callPart("call_1", "read_file", `{"path":"3","from":3}`)),
		},
		{"a name alone", "<tool_call>read_file</tool_call>", parts(callPart("call_1", "read_file", "{}"))},
		{"Python", "<tool_call>t(a='b', c=[1])\nu()</tool_call>", parts(callPart("call_1", "t", `{"a":"b","c":[1]}`), callPart("call_2", "u", "{}"))},
		{"thoughts", "<think>x <tool_call>" + call + "</think>y", parts(thoughtPart("x <tool_call>"+call), textPart("y"))},
		{"escaped", `\<tool_call>{}`, parts(textPart("<tool_call>{}"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireReads(t, markdownpolicy.Hermes.With(markdownpolicy.Options{Tools: fileTools}), c.reply, c.want)
		})
	}
}

func TestS2_8_HermesByMode(t *testing.T) {
	for _, c := range []struct {
		reply, expected string
		offset          int
		repaired        []messages.AssistantContent // nil if it is refused
	}{
		{"Hi\n<tool_call>\n{\"name\":\"t\",\"arguments\":{\n</tool_call>", `a JSON object {"name"`, 15, parts(textPart("Hi"), callPart("call_1", "t", "{}"))},
		{`<tool_call>{"name":"t"}}</tool_call>`, "</tool_call>", 23, parts(callPart("call_1", "t", "{}"))},
		{`<tool_call>{"name":"t"} and so on`, "</tool_call>", 24, parts(callPart("call_1", "t", "{}"), textPart("and so on"))},
		{`<tool_call></tool_call>`, "a JSON object", 11, nil},
		{`<tool_call>{"arguments":{}}</tool_call>`, "the name of a tool", 11, nil},
		{`<tool_call>{"name":"t","arguments":[1]}</tool_call>`, "to be a JSON object", 11, nil},
		{`<tool_call>some words</tool_call>`, "a call", 11, nil},
		{`<tool_call><function=f><parameter=a>x</tool_call>`, "</parameter>", 11, nil},
		{`<tool_call>f<arg_key>a</arg_key></tool_call>`, "<arg_value>", 11, nil},
		{`<tool_call>[{"name":"t"}`, "a JSON object", 11, nil},
	} {
		requireByMode(t, inMode(markdownpolicy.Hermes), c.reply, c.expected, c.offset, c.reply, c.repaired)
	}
}

func TestBrokenCallDoesNotHideTheNext(t *testing.T) {
	text := markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText})
	const broken = `<tool_call>{"name":"t","arguments":{"a":"</tool_call>`
	require.Equal(t, parts(textPart(broken), callPart("call_1", "u", "{}")), partsOf(t, text, broken+`<tool_call>{"name":"u"}</tool_call>`))
}

func TestHermesDialects(t *testing.T) {
	for _, c := range []struct {
		dialect markdownpolicy.Format
		reply   string
		want    []messages.AssistantContent
	}{
		{markdownpolicy.LooseDeepSeek, "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>t<｜tool▁sep｜>{\"x\":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", parts(textPart("a"), callPart("call_1", "t", `{"x":1}`))},
		{markdownpolicy.LooseDeepSeek, "<|tool▁call▁begin|>function<|tool▁sep|>t\n```json\n{}\n```<|tool▁call▁end|>", parts(callPart("call_1", "t", "{}"))},
		{markdownpolicy.LooseDeepSeek, "a<｜tool▁outputs▁begin｜>made up<｜tool▁outputs▁end｜>b", parts(textPart("ab"))},
		{markdownpolicy.LFM, "<|tool_call_start|>[t(a='[1]'), u()]<|tool_call_end|>b", parts(callPart("call_1", "t", `{"a":"[1]"}`), callPart("call_2", "u", "{}"), textPart("b"))},
		{markdownpolicy.Olmo, "<function_calls>\nt(a=1)\nu()\n</function_calls>", parts(callPart("call_1", "t", `{"a":1}`), callPart("call_2", "u", "{}"))},
		{markdownpolicy.FunctionGemma, `<start_function_call>call:t{a:<escape>x"{}<escape>,b:[1,{c:true}]}<end_function_call>`, parts(callPart("call_1", "t", `{"a":"x\"{}","b":[1,{"c":true}]}`))},
		{markdownpolicy.FunctionGemma, `<start_function_call>{"name":"t"}<end_function_call>`, parts(callPart("call_1", "t", "{}"))},
		{markdownpolicy.FunctionGemma, "<tool_call>{}</tool_call>", parts(textPart("<tool_call>{}</tool_call>"))},
	} {
		requireReads(t, c.dialect, c.reply, c.want)
	}
	for _, reply := range []string{"<start_function_call>call:t{a:<escape>x}<end_function_call>", "<start_function_call>t<end_function_call>"} {
		_, err := markdownpolicy.FunctionGemma.ParseResponse(reply)
		require.Error(t, err)
	}
}

func TestS2_22_HermesThoughts(t *testing.T) {
	const call = `<tool_call>{"name":"t"}</tool_call>`
	read := callPart("call_1", "t", "{}")
	for _, c := range []struct {
		thoughts markdownpolicy.Thoughts
		reply    string
		want     []messages.AssistantContent
	}{
		{markdownpolicy.ThoughtsTagged, "x</think>y", parts(textPart("x</think>y"))},
		{markdownpolicy.ThoughtsOpen, "x</think>y", parts(thoughtPart("x"), textPart("y"))},
		{markdownpolicy.ThoughtsOpen, "\n<think>x</think>y", parts(thoughtPart("x"), textPart("y"))},
		{markdownpolicy.ThoughtsOpen, "x" + call + "</think>", parts(thoughtPart("x"), read)},
		{markdownpolicy.ThoughtsOpen, "x" + call + "</think>y", parts(thoughtPart("x"+call), textPart("y"))},
		{markdownpolicy.ThoughtsAny, "x</think>y", parts(thoughtPart("x"), textPart("y"))},
		{markdownpolicy.ThoughtsAny, "y<think>x</think>" + call, parts(textPart("y"), thoughtPart("x"), read)},
		{markdownpolicy.ThoughtsOpen, call, parts(read)},
		{markdownpolicy.ThoughtsOpen, "x", parts(thoughtPart("x"))},
		{markdownpolicy.ThoughtsNone, "<think>x</think>" + call, parts(textPart("<think>x</think>"), read)},
	} {
		requireReads(t, thinking(markdownpolicy.Hermes, c.thoughts), c.reply, c.want)
	}
	require.Equal(t, "a", thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsNone).Render(parts(thoughtPart("t"), textPart("a"))))
}

// Text around the pairs of GLM, or after what looks like the end of a value, is not lost.
func TestS2_3_HermesPairsWithWords(t *testing.T) {
	const key = "<tool_call>f<arg_key>a</arg_key>"
	require.Equal(t, parts(callPart("call_1", "f", `{"a":"x</arg_value>y"}`)),
		partsOf(t, markdownpolicy.Hermes, key+"<arg_value>x</arg_value>y</arg_value></tool_call>"))
	for _, reply := range []string{
		key + " JUNK <arg_value>x</arg_value>y</arg_value> TAIL</tool_call>",
		key + "<arg_value>x</arg_value> TAIL</tool_call>",
		key + "<arg_value>x</tool_call>",
	} {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeRepair} {
			_, err := markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: mode}).ParseResponse(reply)
			require.ErrorContains(t, err, "<arg_value>", reply)
		}
		text := markdownpolicy.Hermes.With(markdownpolicy.Options{Mode: markdownpolicy.ModeText})
		require.Equal(t, parts(textPart(reply)), partsOf(t, text, reply))
	}
}
