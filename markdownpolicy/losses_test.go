package markdownpolicy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
)

// wordy are calls in every format, split into their marks and the text between them.
var wordy = []struct {
	policy  func(markdownpolicy.Options) markdownpolicy.Policy
	replies [][]string
}{
	{in(markdownpolicy.Fenced), [][]string{
		{"```tool_call\n", `{"name":"t","arguments":{}}`, "\n```"},
		{"```json\n", `{"name":"t",`, `"parameters":{}}`, "\n```"},
		{"```json\n", "[", `{"name":"t","arguments":{}}`, ",", `{"name":"t","arguments":{}}`, "]", "\n```"},
		{`{"name":"t","arguments":{}}`, `{"name":"t","arguments":{}}`},
	}},
	{in(markdownpolicy.XML), [][]string{
		{"<tool_call>", "<name>", "t", "</name>", "<arguments>", "{", "}", "</arguments>", "</tool_call>"},
		{"<read_file>", "<path>", "x", "</path>", "</read_file>"},
		{"<", "t", "/>"},
		{"<function=", "t", ">", "<parameter=", "a", ">", "1", "</parameter>", "</function>", "</tool_call>"},
		{"<function=t>", "{", `"a":"x"`, "}", "</function>"},
		{"<function=", "t", "/>"},
	}},
	{in(markdownpolicy.Hermes), [][]string{
		{"<tool_call>", `{"name":"t","arguments":{}}`, `{"name":"t","arguments":{}}`, "</tool_call>"},
		{"<tool_call>", "[", `{"name":"t","arguments":{}}`, ",", `{"name":"t","arguments":{}}`, "]", "</tool_call>"},
		{"<tool_call>", "<function=", "t", ">", "<parameter=", "a", ">", "1", "</parameter>", "<parameter=b>", "2", "</parameter>", "</function>", "</tool_call>"},
		{"<tool_call>", "t", "<arg_key>", "a", "</arg_key>", "<arg_value>", "1", "</arg_value>", "<arg_key>", "b", "</arg_key>", "<arg_value>", "2", "</arg_value>", "</tool_call>"},
		{"<tool_call>", "t", "</tool_call>"},
		{"<tool_call>", "<function=", "t", ">", "{", "}", "</function>", "<function=t>", "<parameter=a>", "1", "</parameter>", "</function>", "</tool_call>"},
		{"<tool_call>", "<function=", "t", "/>", "<function=t/>", "</tool_call>"},
		{"<function=", "t", ">", "<parameter=", "a", ">", "1", "</parameter>", "</function>", "</tool_call>"},
		{"<function=t>", "{", `"a":"x"`, "}", "</function>"},
		{"<function=", "t", "/>"},
		{"<think>", "x", "</think>", "<tool_call>", "t", "(", "a", "=", "1", ")", "</tool_call>"},
	}},
	{func(o markdownpolicy.Options) markdownpolicy.Policy {
		return markdownpolicy.LooseDeepSeek.With(o)
	}, [][]string{
		{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "function", "<｜tool▁sep｜>", "t", "\n```json\n", "{", "}", "\n```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"},
		{"<｜tool▁call▁begin｜>", "function", "<｜tool▁sep｜>", "t", "\n```json\n", "{", "}", "```", "<｜tool▁call▁end｜>"},
		{"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "t", "<｜tool▁sep｜>", "{", "}", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"},
	}},
	{func(o markdownpolicy.Options) markdownpolicy.Policy {
		return markdownpolicy.LFM.With(o)
	}, [][]string{{"<|tool_call_start|>", "[", "t", "(", "a", "=", "'x'", ")", ",", "t()", "]", "<|tool_call_end|>"}}},
	{func(o markdownpolicy.Options) markdownpolicy.Policy {
		return markdownpolicy.Olmo.With(o)
	}, [][]string{{"<function_calls>", "t()", "\n", "t(a=1)", "</function_calls>"}}},
	{func(o markdownpolicy.Options) markdownpolicy.Policy {
		return markdownpolicy.FunctionGemma.With(o)
	}, [][]string{{"<start_function_call>", "call:", "t", "{", "a", ":", "<escape>", "x", "<escape>", ",", "b:", "1", "}", "<end_function_call>"}}},
	{func(o markdownpolicy.Options) markdownpolicy.Policy {
		return thinking(markdownpolicy.Hermes, markdownpolicy.ThoughtsOpen).With(o)
	}, [][]string{
		{"x", "<tool_call>", `{"name":"t"}`, "</tool_call>", "</think>", "y"},
		{"x", "<tool_call>", `{"name":"t"}`, "</tool_call>", "\n</think>", "\n"},
	}},
	{in(markdownpolicy.Llama), [][]string{
		{`{"name":"t","parameters":{}}`, ";", `{"name":"t","parameters":{}}`, ";"},
		{"<|python_tag|>", `{"name":"t","parameters":{}}`, "\n", `{"name":"t","parameters":{}}`},
		{"<function=", "t", ">", "<parameter=", "a", ">", "1", "</parameter>", "</function>", "</tool_call>"},
		{"<function=t>", "{", `"a":"x"`, "}", "</function>"},
		{"<function=", "t", "/>"},
	}},
	{in(markdownpolicy.Pythonic), [][]string{
		{"[", "t", "(", "a", "=", "1", ")", ",", "t()", "]"},
		{"<|python_start|>", "[", "t()", "]", "<|python_end|>"},
	}},
	{in(markdownpolicy.Mistral), [][]string{
		{"[TOOL_CALLS]", "[", `{"name":"t","arguments":{}}`, ",", `{"name":"t","arguments":{}}`, "]", "[/TOOL_CALLS]"},
		{"[TOOL_CALLS]", "t", "[CALL_ID]9[ARGS]", "{", "}", "[TOOL_CALLS]", "t", "[ARGS]", "{}"},
		{"[TOOL_CALLS]", "t", "{", "}", "[/TOOL_CALLS]"},
		{"[", `{"name":"t","arguments":{}}`, "]"},
		{"[THINK]", "x", "[/THINK]"},
	}},
}

// TestS2_3_WordsBetweenMarksAreNotLost puts words between any two marks of a call. The words must
// be in a text, in the call, or in an error, or a repair must describe what happened to them.
func TestS2_3_WordsBetweenMarksAreNotLost(t *testing.T) {
	for _, w := range wordy {
		for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
			p := w.policy(markdownpolicy.Options{Mode: mode, Tools: lawTools})
			for _, reply := range w.replies {
				for i := range len(reply) + 1 {
					for _, word := range []string{"JUNK", " I think JUNK ", "\nJUNK\n", "<JUNK>", "}JUNK; {"} {
						text := strings.Join(slices.Insert(slices.Clone(reply), i, word), "")
						checkWord(t, p, text)
					}
				}
			}
		}
	}
}

func checkWord(t *testing.T, p markdownpolicy.Policy, text string) {
	doc, err := p.ParseResponse(text)
	if err != nil || len(doc.Repairs) > 0 {
		return
	}
	said := ""
	for _, c := range doc.Contents() {
		switch c := c.(type) {
		case messages.ToolCall:
			said += c.Name + c.Arguments
		default:
			said += fmt.Sprint(c)
		}
	}
	require.Contains(t, said, "JUNK", "%T: %q", p, text)
}
