package markdownpolicy

import (
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// MiniMax is the format of MiniMax M2. The calls of a reply are in one block; each is the name of
// the tool, and a tag for each argument:
//
//	<minimax:tool_call>
//	<invoke name="get_weather">
//	<parameter name="city">Paris</parameter>
//	</invoke>
//	</minimax:tool_call>
//
// Values are written and read as those of [GLM]. Results are between <response> and </response>, in
// the order of the calls. Thoughts are between <think> and </think>; those before the last message
// of the user are not told again. The prompt ends with <think>: ThoughtsOpen is for that.
//
// The form was learned from the tool calling guide of MiniMax-AI/MiniMax-M2 and its chat template
// with Unsloth's corrections as llama.cpp has it (November 2025), read in November 2026.
var MiniMax = Format{row: &row{
	name: "minimax",
	told: `You can call tools. Write all calls of a reply in one block, as the example shows. A value that is a string is written without quotes, any other as JSON. ` +
		`The results come in the next message, in the order of the calls, between <response> and </response>.` + inTags,
	tools: func(defs []tools.Definition) string {
		return "The tools are between <tools> and </tools>, as JSON:\n<tools>\n" +
			joinEach(defs, "\n", func(d tools.Definition) string { return "<tool>" + definitionObject(d) + "</tool>" }) + "\n</tools>"
	},
	keep: thoughtsOfTurn, results: joinResults("<response>", "</response>", "\n"),
	calls: []tagPair{{open: "<minimax:tool_call>", close: "</minimax:tool_call>"}}, body: invoke.read, values: invoke.values(), stops: []string{"[e~["},
	behind:     "\n\n",
	writeCalls: invoke.writer("\n"),
}}

// DeepSeekV32 is the format of DeepSeek V3.2. The calls of a reply are in one block, as those of
// [MiniMax] are; each argument says whether it is a string:
//
//	<｜DSML｜function_calls>
//	<｜DSML｜invoke name="get_weather">
//	<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
//	</｜DSML｜invoke>
//	</｜DSML｜function_calls>
//
// Results are between <result> and </result>, in the order of the calls. Thoughts are between
// <think> and </think>; those before the last message of the user are not told again. If the model
// thinks, the prompt ends with <think>: ThoughtsOpen is for that.
//
// The form was learned from the encoding of deepseek-ai/DeepSeek-V3.2 (December 2025) as vLLM has
// it, and from the chat template of llama.cpp, read in November 2026.
var DeepSeekV32 = Format{row: &row{
	name: "deepseekv32",
	told: `You can call tools. Write all calls of a reply in one block, as the example shows. An argument that is a string has the attribute string="true" and is written without quotes; ` +
		`any other has string="false" and is written as JSON. The results come in the next message, in the order of the calls, between <function_results> and </function_results>.` + inTags,
	tools: func(defs []tools.Definition) string {
		return "## Tools\n\nThese functions can be called, as JSON:\n<functions>\n" + joinEach(defs, "\n", definitionObject) + "\n</functions>"
	},
	keep: thoughtsOfTurn,
	results: func(outputs []messages.ToolOutput) string {
		return "<function_results>\n" + joinResults("<result>", "</result>", "\n")(outputs) + "\n</function_results>"
	},
	calls: []tagPair{{open: "<｜DSML｜function_calls>", close: "</｜DSML｜function_calls>"}}, body: dsml.read, values: dsml.values(), stops: []string{deepSeekMark("end of sentence")},
	writeCalls: dsml.writer("\n\n"),
}}

var (
	invoke = functionForm{
		call: tagPair{open: "<invoke name=", close: "</invoke>"}, parameter: tagPair{open: "<parameter name=", close: "</parameter>"},
		unknown: anything,
	}
	dsml = functionForm{
		call: tagPair{open: "<｜DSML｜invoke name=", close: "</｜DSML｜invoke>"}, parameter: tagPair{open: "<｜DSML｜parameter name=", close: "</｜DSML｜parameter>"},
		unknown: anything, typed: true,
	}
)

// read reads the body of a block of calls.
func (f functionForm) read(o Options, text string, at int) ([]Part, []Repair, *ParseError) {
	body := textscan.TrimLeft(text)
	at += len(text) - len(body)
	if !strings.HasPrefix(body, f.call.open) {
		return o.readBody(body, at)
	}
	return o.readFunctions(f, textscan.TrimRight(body), at)
}

// writer returns what writes calls in one block, behind a text.
func (f functionForm) writer(behind string) func(Format, []messages.ToolCall) string {
	return func(format Format, calls []messages.ToolCall) string {
		return behind + format.nativeOrJSON(calls, func(calls []messages.ToolCall) string {
			marks := format.row.calls[0]
			return marks.open + "\n" + joinEach(calls, "\n", f.write) + "\n" + marks.close
		})
	}
}

// write writes a call.
func (f functionForm) write(c messages.ToolCall) string {
	var lines []string
	for key, value := range jsonscan.Members(string(appendArguments(nil, c.Arguments))) {
		kind, text := "", value
		if value[0] == '"' {
			text = jsonscan.Unquote(value)
		}
		if f.typed {
			kind = ` string="` + strconv.FormatBool(value[0] == '"') + `"`
		}
		lines = append(lines, f.parameter.open+`"`+key+`"`+kind+">"+text+f.parameter.close)
	}
	if len(lines) == 0 && f.typed { // as its model was trained
		lines = []string{""}
	}
	lines = append(lines, f.call.close)
	return f.call.open + `"` + c.Name + `">` + "\n" + strings.Join(lines, "\n")
}
