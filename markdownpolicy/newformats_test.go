package markdownpolicy_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/markdownpolicy"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// trained are the formats of newer models, by name, with these options.
func trained(o markdownpolicy.Options) map[string]markdownpolicy.Policy {
	return map[string]markdownpolicy.Policy{
		"glm":             markdownpolicy.GLM.With(o),
		"glm open":        thinking(markdownpolicy.GLM, markdownpolicy.ThoughtsOpen).With(o),
		"glm any":         thinking(markdownpolicy.GLM, markdownpolicy.ThoughtsAny).With(o),
		"glm 4.7":         markdownpolicy.GLM47.With(o),
		"glm 4.7 any":     thinking(markdownpolicy.GLM47, markdownpolicy.ThoughtsAny).With(o),
		"kimi":            markdownpolicy.Kimi.With(o),
		"kimi any":        thinking(markdownpolicy.Kimi, markdownpolicy.ThoughtsAny).With(o),
		"kimi open":       thinking(markdownpolicy.Kimi, markdownpolicy.ThoughtsOpen).With(o),
		"deepseek":        markdownpolicy.DeepSeek.With(o),
		"deepseek v3":     markdownpolicy.DeepSeekV3.With(o),
		"deepseek open":   thinking(markdownpolicy.DeepSeek, markdownpolicy.ThoughtsOpen).With(o),
		"deepseek any":    thinking(markdownpolicy.DeepSeek, markdownpolicy.ThoughtsAny).With(o),
		"harmony":         markdownpolicy.Harmony.With(o),
		"harmony forgets": forgetting(markdownpolicy.Harmony).With(o),
		"gemma":           markdownpolicy.Gemma.With(o),
		"gemma4":          markdownpolicy.Gemma4.With(o),
		"minimax":         markdownpolicy.MiniMax.With(o),
		"minimax any":     thinking(markdownpolicy.MiniMax, markdownpolicy.ThoughtsAny).With(o),
		"minimax open":    thinking(markdownpolicy.MiniMax, markdownpolicy.ThoughtsOpen).With(o),
		"deepseekv32":     markdownpolicy.DeepSeekV32.With(o),
		"deepseekv32 any": thinking(markdownpolicy.DeepSeekV32, markdownpolicy.ThoughtsAny).With(o),
	}
}

const (
	v31Call = "<｜tool▁call▁begin｜>t<｜tool▁sep｜>"
	v31End  = "<｜tool▁call▁end｜>"
)

func TestS2_6_TrainedFormatsReadCalls(t *testing.T) {
	read, second := callPart("call_1", "t", `{"a": 1}`), callPart("call_2", "u", "{}")
	for _, c := range []struct {
		policy, reply string
		want          []messages.AssistantContent
	}{
		{"glm", "<think>so</think>\na\n<tool_call>t\n<arg_key>a</arg_key>\n<arg_value>b c</arg_value>\n</tool_call>", parts(thoughtPart("so"), textPart("a"), callPart("call_1", "t", `{"a":"b c"}`))},
		{"glm", "<tool_call>t<arg_key>a</arg_key><arg_value>[1, {\"b\": null}]</arg_value></tool_call><tool_call>u</tool_call>", parts(callPart("call_1", "t", `{"a":[1, {"b": null}]}`), second)},
		{"glm", "<tool_call>nobody_knows\n</tool_call>x", parts(callPart("call_1", "nobody_knows", "{}"), textPart("x"))},
		{"glm", "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>3</arg_value>\n<arg_key>from</arg_key>\n<arg_value>3</arg_value>\n</tool_call>", parts(callPart("call_1", "read_file", `{"path":"3","from":3}`))},
		{"glm", `<tool_call>{"name":"t","arguments":{"a": 1}}</tool_call>`, parts(read)},
		{"glm", "<tool_call>read_file\n{\"path\":\"a\"}\n</tool_call>", parts(callPart("call_1", "read_file", `{"path":"a"}`))},
		{"glm", `<tool_call>read_file{"path":"a"}</tool_call>`, parts(callPart("call_1", "read_file", `{"path":"a"}`))},
		{"glm any", `<tool_call>{"name":"t","arguments":{"a":"</think>"}}</tool_call>`, parts(callPart("call_1", "t", `{"a":"</think>"}`))},
		{"glm open", "so</think>a<tool_call>u</tool_call>", parts(thoughtPart("so"), textPart("a"), callPart("call_1", "u", "{}"))},
		{"kimi", "<think>so</think>a<|tool_calls_section_begin|><|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_call_begin|>functions.u:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|>", parts(thoughtPart("so"), textPart("a"), read, second)},
		{"kimi", "<|tool_call_section_begin|><|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_call_section_end|>", parts(read)},
		{"kimi", "<|tool_call_begin|>\nt\n<|tool_call_argument_begin|>\n{\"a\": 1}\n<|tool_call_end|>", parts(read)},
		{"kimi", "<|tool_call_begin|>functions.u:12<|tool_call_argument_begin|><|tool_call_end|>b", parts(callPart("call_1", "u", "{}"), textPart("b"))},
		{"kimi", `<|tool_call_begin|>functions.fs.read-file:3<|tool_call_argument_begin|>{"a": "<|tool_call_end|>"}<|tool_call_end|>`, parts(callPart("call_1", "fs.read-file", `{"a": "<|tool_call_end|>"}`))},
		{"kimi open", "so</think>a", parts(thoughtPart("so"), textPart("a"))},
		{"deepseek", "a<｜tool▁calls▁begin｜>" + v31Call + `{"a": 1}` + v31End + "<｜tool▁call▁begin｜>u<｜tool▁sep｜>{}" + v31End + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>", parts(textPart("a"), read, second)},
		{"deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n{\"a\": 1}\n```" + v31End + "\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>u\n```json\n{}```" + v31End, parts(read, second)},
		{"deepseek", "<|tool▁call▁begin|>t<|tool▁sep|>{\"a\": 1}<|tool▁call▁end|>", parts(read)},
		{"deepseek", v31Call + `{"a": "` + v31End + `"}` + v31End, parts(callPart("call_1", "t", `{"a": "`+v31End+`"}`))},
		{"deepseek open", "so</think>a", parts(thoughtPart("so"), textPart("a"))},
		{"deepseek open", "so<｜tool▁calls▁begin｜>" + v31Call + `{"a": 1}` + v31End, parts(thoughtPart("so"), read)},
		{"harmony", `<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.t <|constrain|>json<|message|>{"a": 1}<|call|>`, parts(thoughtPart("so"), textPart("I look."), read)},
		{"harmony", `<|start|>assistant to=functions.t<|channel|>commentary json<|message|>{"a": 1}<|call|>`, parts(read)},
		{"harmony", ` to=functions.t<|channel|>commentary json<|message|>{"a": 1}<|call|>`, parts(read)},
		{"harmony", `<|channel|>commentary to=functions.t<|constrain|>json<|message|>{"a": 1}<|end|><|start|>assistant<|channel|>commentary to=functions.u<|message|>{}<|call|>`, parts(read, second)},
		{"harmony", `<|channel|>analysis to=browser.search json<|message|>{"a": "<|call|>"}<|call|>`, parts(callPart("call_1", "browser.search", `{"a": "<|call|>"}`))},
		{"harmony", "<|channel|>final<|message|>4<|return|>", parts(textPart("4"))},
		{"harmony", "<|channel|>commentary<|message|>First.<|end|><|start|>assistant<|channel|>final<|message|>Then.<|return|>", parts(textPart("First.\n\nThen."))},
		{"harmony", ` to=browser.search<|channel|>analysis json<|message|>{"a": 1}<|call|>`, parts(callPart("call_1", "browser.search", `{"a": 1}`))},
		{"harmony", "<|start|>user<|message|>no", parts(textPart("<|start|>userno"))},
		{"harmony", "to=you", parts(textPart("to=you"))},
		{"harmony", "<|start|>to=", parts(textPart("<|start|>to="))},
		{"minimax", "<think>\nso\n</think>\n\na\n<minimax:tool_call>\n<invoke name=\"t\">\n<parameter name=\"a\">1</parameter>\n</invoke>\n<invoke name=\"u\">\n</invoke>\n</minimax:tool_call>[e~[\n", parts(thoughtPart("so"), textPart("a"), callPart("call_1", "t", `{"a":1}`), second)},
		{"minimax", "<minimax:tool_call><invoke name='read_file'><parameter name=path>3</parameter></invoke></minimax:tool_call>x", parts(callPart("call_1", "read_file", `{"path":"3"}`), textPart("x"))},
		{"minimax", "<minimax:tool_call>\n<invoke name=\"write_file\">\n<parameter name=\"content\">A </parameter> and </minimax:tool_call>.</parameter>\n</invoke></minimax:tool_call>", parts(callPart("call_1", "write_file", `{"content":"A </parameter> and </minimax:tool_call>."}`))},
		{"minimax", `<minimax:tool_call>{"name":"t","arguments":{"a": 1}}</minimax:tool_call>`, parts(read)},
		{"minimax open", "so</think>a<minimax:tool_call><invoke name=\"u\"></invoke></minimax:tool_call>", parts(thoughtPart("so"), textPart("a"), callPart("call_1", "u", "{}"))},
		{"deepseekv32", "<think>so</think>a\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"t\">\n<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"true\"> 2 </｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"u\">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls><｜end▁of▁sentence｜>", parts(thoughtPart("so"), textPart("a"), callPart("call_1", "t", `{"a":1,"b":" 2 "}`), second)},
		{"deepseekv32", "<｜DSML｜function_calls><｜DSML｜invoke name=\"read_file\"><｜DSML｜parameter name=\"path\" string=\"false\">\"a\"</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>", parts(callPart("call_1", "read_file", `{"path":"a"}`))},
		{"gemma4", "<|channel>thought\nso<channel|><|tool_call>call:t{a:<|\"|>x}, {\"<|\"|>,b:[1,{c:true}]}<tool_call|><|tool_call>call:u{}<tool_call|><|tool_response>", parts(thoughtPart("so"), callPart("call_1", "t", `{"a":"x}, {\"","b":[1,{"c":true}]}`), second)},
		{"gemma4", "<|tool_call>call:t{a:<|\"|>See <tool_call|>.<|\"|>}<tool_call|>b<turn|>", parts(callPart("call_1", "t", `{"a":"See <tool_call|>."}`), textPart("b"))},
		{"gemma4", `<|tool_call>{"name":"t","arguments":{"a": 1}}<tool_call|>`, parts(read)},
		{"gemma", "```tool_code\nt(a=1)\n```<end_of_turn>\n", parts(callPart("call_1", "t", `{"a":1}`))},
		{"harmony", "<|channel|>commentary to=functions.<|message|>{}<|call|>", parts(textPart("<|channel|>commentary to=functions.{}"))},
		{"gemma", "I look.\n```tool_code\nt(a=1)\n```", parts(textPart("I look."), callPart("call_1", "t", `{"a":1}`))},
		{"gemma", "```tool_code\nt(a=1)\nu()\n```\nx", parts(callPart("call_1", "t", `{"a":1}`), second, textPart("x"))},
		{"gemma", "```tool_code\nprint(t(a=')'))\n```", parts(callPart("call_1", "t", `{"a":")"}`))},
		{"gemma", "```tool_code\nt(a=\"```\")```", parts(callPart("call_1", "t", "{\"a\":\"```\"}"))},
		{"gemma", "\\```tool_code\n```tool_code\nt(a=1)\n```", parts(textPart("```tool_code"), callPart("call_1", "t", `{"a":1}`))},
		{"gemma", "```python\nt(a=1)\n```\n\\```tool_code\nt()\n```", parts(textPart("```python\nt(a=1)\n```\n```tool_code\nt()\n```"))},
	} {
		t.Run(c.policy, func(t *testing.T) {
			p := trained(markdownpolicy.Options{Tools: fileTools})[c.policy]
			requireReads(t, p, c.reply, c.want)
			checkRoundTrip(t, p, c.want)
		})
	}
}

// What is meant as a call but is not one is an error, is text, or is repaired, by the mode.
func TestS2_8_TrainedFormatsByMode(t *testing.T) {
	read := parts(callPart("call_1", "t", `{"a":[1]}`))
	for _, c := range []struct {
		policy, reply, expected string
		text                    string                      // in ModeText
		repaired                []messages.AssistantContent // nil if it is refused
	}{
		{"glm", "<tool_call>some words</tool_call>", "a call", "", nil},
		{"glm", "<tool_call>t<arg_key>a</arg_key></tool_call>", "<arg_value>", "", nil},
		{"glm", `<tool_call>{"name":"t","arguments":{"a":[1]</tool_call>`, `"name"`, "", read},
		{"kimi", "<|tool_call_begin|>t<|tool_call_argument_begin|>{'a': [1]}<|tool_call_end|>", "the arguments", "", read},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{"a":[1]<|tool_call_end|>`, "the arguments", "", read},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{"a":[1]}}<|tool_call_end|>`, "<|tool_call_end|>", "", read},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{"a":[1]}{"b":2}<|tool_call_end|>`, "<|tool_call_end|>", "", nil},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{"a":[1]}{"b":2}`, "<|tool_call_end|>", "", nil},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{"a":[1]} and so on<|tool_call_end|>`, "<|tool_call_end|>", "", nil},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>words<|tool_call_end|>`, "the arguments", "", nil},
		{"kimi", `<|tool_call_begin|>t:x<|tool_call_argument_begin|>{}<|tool_call_end|>`, "<|tool_call_begin|>", "", nil},
		{"kimi", `<|tool_call_begin|>functions.t:0`, "<|tool_call_begin|>", "", nil},
		{"deepseek", v31Call + `{"a":[1],}` + v31End, "the arguments", "", read},
		{"deepseek", v31Call + `{"a":[1]}<｜tool▁calls▁end｜>`, v31End, v31Call + `{"a":[1]}`, append(slices.Clone(read), textPart(""))[:1]},
		{"deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n{\"a\":1}" + v31End, "<｜tool▁call▁begin｜>", "", nil},
		{"deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n{'a': [1]}\n```" + v31End, "the arguments", "", read},
		{"deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n{\"a\":[1]}\n``` and" + v31End, v31End, "", nil},
		{"harmony", `<|channel|>commentary to=functions.t json<|message|>{"a":[1]`, "the arguments", `<|channel|>commentary to=functions.t json<|message|>{"a":[1]`, read},
		{"harmony", `<|channel|>commentary to=functions.t json<|message|>{"a":[1]}<|start|>assistant<|channel|>final<|message|>x`, "<|call|>", `<|channel|>commentary to=functions.t json<|message|>{"a":[1]}` + "\n\nx", append(slices.Clone(read), textPart("x"))},
		{"harmony", `<|channel|>commentary to=functions.t prose<|message|>{"a":[1]}<|call|>`, "<|channel|>commentary to=", `<|channel|>commentary to=functions.t prose<|message|>{"a":[1]}`, nil},
		{"harmony", `<|channel|>commentary to=python<|message|>1 + 1<|call|>`, "the arguments", `<|channel|>commentary to=python<|message|>1 + 1`, nil},
		{"harmony", `to=python<|channel|>analysis code<|message|>1 + 1<|call|>`, "the arguments", `to=python<|channel|>analysis code<|message|>1 + 1`, nil},
		{"minimax", "<minimax:tool_call>words</minimax:tool_call>", "a call", "", nil},
		{"minimax", "<minimax:tool_call><invoke name=\"t\"><parameter name=\"a\">1<parameter name=\"b\">2</parameter></invoke></minimax:tool_call>", "</parameter>", "", nil},
		{"minimax", "<minimax:tool_call><invoke name=\"t\"><parameter name=\"a\">1</parameter><parameter name=\"a\">2</parameter></invoke></minimax:tool_call>", "only once", "", nil},
		{"deepseekv32", "<｜DSML｜function_calls><｜DSML｜invoke name=\"t\"><｜DSML｜parameter name=\"a\" string=\"true\">1<｜DSML｜parameter name=\"b\" string=\"true\">2</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>", "</｜DSML｜parameter>", "", nil},
		{"gemma4", "<|tool_call>call:t{a:<|\"|>x}<tool_call|>", "call:name", "", nil},
		{"gemma4", "<|tool_call>words<tool_call|>", "a call", "", nil},
		{"gemma", "```tool_code\nx = 1\n```", "a call", "", nil},
		{"gemma", "```tool_code\n```", "a call", "", nil},
		{"gemma", "```tool_code\nt(1)\n```", "argument=value", "", nil},
		{"gemma", "```tool_code\nt(a=[1]\n```", "", "", read},
	} {
		requireByMode(t, func(mode markdownpolicy.Mode) markdownpolicy.Policy {
			return trained(markdownpolicy.Options{Mode: mode})[c.policy]
		}, c.reply, c.expected, 0, cmp.Or(c.text, c.reply), c.repaired)
	}
}

// The mark that begins the next call may be longer than the mark that ends this one, and come in
// pieces.
func TestS2_8_NextCallInPieces(t *testing.T) {
	hermes := markdownpolicy.LooseDeepSeek.With(markdownpolicy.Options{Mode: markdownpolicy.ModeRepair})
	checkEveryCut(t, hermes, `<｜tool▁call▁begin｜>{"name":"t"} x<｜tool▁call▁begin｜>{"name":"u"}<｜tool▁call▁end｜>`)
}

// A call that may have been cut off is open.
func TestTrainedFormatsCutOff(t *testing.T) {
	for _, c := range []struct {
		policy, reply string
		open          bool
	}{
		{"glm", "<tool_call>t\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>", true},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{}`, true},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{}<|tool_c`, true},
		{"kimi", `<|tool_call_begin|>t<|tool_call_argument_begin|>{}<|tool_call_end|>`, false},
		{"deepseek", v31Call + "{}", true},
		{"deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n{}\n``", true},
		{"deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n{}\n```", true},
		{"harmony", `<|channel|>commentary to=functions.t json<|message|>{}`, true},
		{"harmony", `<|channel|>commentary to=functions.t json<|message|>{}<|ca`, true},
		{"harmony", `<|channel|>commentary to=functions.t json<|message|>{}<|call|>`, false},
		{"minimax", "<minimax:tool_call><invoke name=\"t\"></invoke>", true},
		{"deepseekv32", "<｜DSML｜function_calls><｜DSML｜invoke name=\"t\"></｜DSML｜invoke>", true},
		{"gemma4", "<|tool_call>call:t{}", true},
		{"gemma", "```tool_code\nt()", true},
		{"gemma", "```tool_code\nt()\n``", true},
		{"gemma", "```tool_code\nt()\n```", false},
	} {
		doc, err := trained(markdownpolicy.Options{})[c.policy].ParseResponse(c.reply)
		require.NoError(t, err, c.reply)
		require.Len(t, doc.Parts, 1, c.reply)
		require.Equal(t, c.open, doc.Parts[0].Open, c.reply)
	}
}

// TestS2_19_TrainedFormatsTellThePast shows which thoughts a format tells again, that results are
// in the order of the calls, and that failures say so.
func TestS2_19_TrainedFormatsTellThePast(t *testing.T) {
	result := func(id, name, output string) messages.Message {
		return messages.Tool{ToolOutput: messages.ToolOutput{CallID: id, ToolName: name, Output: output}}
	}
	failed := messages.Tool{ToolOutput: messages.ToolOutput{CallID: "d", ToolName: "v", Output: "late", Status: messages.StatusFailed, Reason: "timeout"}}
	history := messages.History{
		messages.UserText("one"),
		messages.Assistant{Content: parts(thoughtPart("T1"), callPart("a", "t", "{}"), callPart("b", "u", "{}"))},
		result("b", "u", "second"),
		result("a", "t", "first"),
		messages.Assistant{Content: parts(thoughtPart("T2"), textPart("done"))},
		messages.UserText("two"),
		messages.Assistant{Content: parts(thoughtPart("T3"), callPart("d", "v", "{}"))},
		failed,
	}
	for name, thoughts := range map[string]string{
		"glm": "T3", "kimi": "T3", "deepseek": "", "harmony": "T3", "harmony forgets": "", "gemma": "T1 T2 T3", "minimax": "T3", "deepseekv32": "T3", "gemma4": "T3",
	} {
		past, err := trained(markdownpolicy.Options{})[name].FormatQuery(history)
		require.NoError(t, err)
		require.Len(t, past, 7, name)
		told := fmt.Sprint(past)
		var kept []string
		for _, thought := range []string{"T1", "T2", "T3"} {
			if strings.Contains(told, thought) {
				kept = append(kept, thought)
			}
		}
		require.Equal(t, thoughts, strings.Join(kept, " "), name)
		require.Less(t, strings.Index(told, "first"), strings.Index(told, "second"), name)
		require.Contains(t, told, "status: failed (timeout)\nlate", name)
		if name == "kimi" {
			require.Equal(t, "## Return of functions.t:0\nfirst\n## Return of functions.u:1\nsecond", past[2].(messages.User).Text())
			require.Contains(t, told, "functions.v:2")
		}
	}
	require.Equal(t, "b", history[2].(messages.Tool).CallID, "the history is unchanged")
}

// From GLM-4.7 on the chat template writes no line breaks.
func TestS2_19_GLM47TellsWithoutLineBreaks(t *testing.T) {
	history := messages.History{
		messages.UserText("one"),
		messages.Assistant{Content: parts(thoughtPart("so"), textPart(`a\`), callPart("a", "t", `{"k":"v","n":[1]}`), callPart("b", "u", "{}"))},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a", ToolName: "t", Output: "first"}},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "b", ToolName: "u", Output: "second"}},
	}
	p, ok := markdownpolicy.ForModel("zai-org/GLM-4.7-Flash")
	require.True(t, ok)
	past, err := p.FormatQuery(history)
	require.NoError(t, err)
	require.Equal(t, "<think>so</think>a\\\n<tool_call>t<arg_key>k</arg_key><arg_value>v</arg_value><arg_key>n</arg_key><arg_value>[1]</arg_value></tool_call><tool_call>u</tool_call>", past[1].(messages.Assistant).Text())
	require.Equal(t, "<tool_response>first</tool_response><tool_response>second</tool_response>", past[2].(messages.User).Text())
}

// The published template of gpt-oss refuses a past reply with the marks of a thought or an answer.
func TestS2_19_HarmonyWritesNoAnswerBesideCalls(t *testing.T) {
	reply := parts(textPart("I look."), callPart("call_1", "t", "{}"), textPart("I looked."))
	text := forgetting(markdownpolicy.Harmony).Render(reply)
	require.NotContains(t, text, "<|channel|>final<|message|>")
	doc, err := markdownpolicy.Harmony.ParseResponse(text)
	require.NoError(t, err)
	require.Equal(t, normal(reply), normal(doc.Contents()))
}

// gpt-oss was trained on tools as functions of TypeScript.
func TestHarmonyDescribesToolsAsTypeScript(t *testing.T) {
	told := markdownpolicy.Harmony.FormatInstructions([]tools.Definition{
		{Name: "look", Description: "Looks.\nOnce.", Parameters: []byte(`{"type":"object","properties":{
			"place":{"type":"string","description":"Where."},"unit":{"enum":["C","F"]},"days":{"type":"array","items":{"type":["integer","null"]}},
			"all":{"type":"array"},"area":{"type":"object","properties":{"size":{"type":"number"}}},"by":{"anyOf":[{"type":"string"},{"type":"boolean"}]},
			"other":{},"free":{"type":"object"}},"required":["place"]}`)},
		{Name: "wait"},
	})
	_, described, _ := strings.Cut(told, "# Tools\n\n")
	require.Equal(t, `## functions

namespace functions {

// Looks.
// Once.
type look = (_: {
// Where.
place: string,
unit?: "C" | "F",
days?: (number | null)[],
all?: any[],
area?: {
size?: number,
},
by?: string | boolean,
other?: any,
free?: object,
}) => any;

type wait = () => any;

} // namespace functions`, described)
}

// A format whose calls have marks finds no calls in texts about other formats.
func TestTrainedFormatsFindNoCallsInOtherTexts(t *testing.T) {
	for _, reply := range []string{
		`{"name":"t","arguments":{}}`, "t(a=1)", "[t(a=1)]", "```python\nt(a=1)\n```", "```tool_codes\nt(a=1)\n```", "functions.t:0", "a <|tool_calls> b <tool_calls>",
		"commentary to=functions.t", "> ```tool_code x", "Write ```tool_code in a block.", "<|channel", "to=functions.t",
	} {
		for name, p := range trained(markdownpolicy.Options{Tools: lawTools}) {
			if strings.HasSuffix(name, "open") {
				continue
			}
			require.Equal(t, parts(textPart(reply)), partsOf(t, p, reply), name)
		}
	}
}

// Around a format that tells thoughts itself, Think changes only what is read.
func TestThinkAroundTrainedFormats(t *testing.T) {
	history := messages.History{
		messages.UserText("one"),
		messages.Assistant{Content: parts(thoughtPart("T1"), callPart("a", "t", "{}"))},
		messages.Tool{ToolOutput: messages.ToolOutput{CallID: "a", ToolName: "t", Output: "first"}},
	}
	for _, name := range []string{"glm", "kimi", "deepseek", "harmony"} {
		p := trained(markdownpolicy.Options{})[name]
		want, err := p.FormatQuery(history)
		require.NoError(t, err)
		got, err := markdownpolicy.Think{Policy: p}.FormatQuery(history)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
	require.Equal(t, parts(thoughtPart("so"), callPart("call_1", "t", "{}")),
		partsOf(t, markdownpolicy.Think{Policy: markdownpolicy.GLM}, "so</think><tool_call>t</tool_call>"))
}

// TestTrainedFormatsFindNoCallsInTheCorpus reads texts that models wrote without these formats.
func TestTrainedFormatsFindNoCallsInTheCorpus(t *testing.T) {
	eachCorpus(t, func(t *testing.T, c corpus) {
		files, err := filepath.Glob(filepath.Join(c.dir, "text", "*.jsonl"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		texts := 0
		for _, file := range files {
			for _, line := range corpusLines[struct{ ID, Text string }](t, c, "text/"+filepath.Base(file)) {
				texts++
				for name, p := range trained(markdownpolicy.Options{Tools: lawTools}) {
					doc, err := p.ParseResponse(line.Text)
					require.NoError(t, err, "%s: %s", name, line.ID)
					require.False(t, slices.ContainsFunc(doc.Contents(), func(c messages.AssistantContent) bool {
						_, ok := c.(messages.ToolCall)
						return ok
					}), "%s: %s", name, line.ID)
				}
			}
		}
		t.Logf("%d texts", texts)
	})
}

func trainedLawful(defs []tools.Definition) (all []lawful) {
	for _, mode := range []markdownpolicy.Mode{markdownpolicy.ModeError, markdownpolicy.ModeText, markdownpolicy.ModeRepair} {
		for name, p := range trained(markdownpolicy.Options{Mode: mode, Tools: defs}) {
			all = append(all, lawful{Policy: p, name: name, tools: defs})
		}
	}
	return all
}

// fuzzTrained fuzzes one of the formats, with tools and without, in each mode.
func fuzzTrained(f *testing.F, prefix string, seeds ...string) {
	fuzzTags(f, named(append(trainedLawful(nil), trainedLawful(lawTools)...), prefix), seeds...)
}

func FuzzGLM(f *testing.F) {
	fuzzTrained(f, "glm", "<think>x</think>a<tool_call>t\n<arg_key>a</arg_key>\n<arg_value>[1]</arg_value>\n</tool_call>", "<tool_call>u</tool_call>\\<tool_call>", `<tool_call>{"name":"t"}}</tool_call></think>`, "a\nt<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", "<tool_call>ta</arg_key>1</arg_value><arg_key>")
}

func FuzzKimi(f *testing.F) {
	fuzzTrained(f, "kimi", "a<|tool_calls_section_begin|><|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>{\"a\":1}<|tool_call_end|><|tool_calls_section_end|>",
		"<|tool_call_begin|>t<|tool_call_argument_begin|><|tool_call_end|>\\<|im_end|>", "<|tool_call_begin|>t<|tool_call_argument_begin|>{'a':1}} x", "a.functions.t:0{\"a\":1}functions.read_file:1 {\"path\":\"\"}")
}

func FuzzDeepSeek(f *testing.F) {
	fuzzTrained(f, "deepseek", "<｜tool▁calls▁begin｜>"+v31Call+"{}"+v31End+"<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n{\"a\":1}\n```"+v31End,
		"<|tool▁call▁begin|>t<|tool▁sep|>{\"a\":1} x", "x</think>\\"+v31Call, "functiont\n```json\n{\"a\":1}\n```\nt<｜tool▁sep｜>{}"+v31End)
}

func FuzzHarmony(f *testing.F) {
	fuzzTrained(f, "harmony", `<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary to=functions.t <|constrain|>json<|message|>{"a":1}<|call|>`,
		"to=t<|channel|>commentary json<|message|>{}<|call|>\\<|end|>", "<|channel|>commentary<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "<|start|>user<|message|>",
		`a.assistantcommentary to=functions.t json{"a":1}assistant to=functions.read_filecommentary json<|message|>{"path":""}<|call|>`)
}

func FuzzGemma(f *testing.F) {
	fuzzTrained(f, "gemma", "a\n```tool_code\nt(a=1)\nu()\n```\n\\```tool_code\n", "````tool_code\nprint(t(a='```'))\n````", "```tool_code\nt()``")
}
