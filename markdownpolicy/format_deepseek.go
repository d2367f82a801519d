package markdownpolicy

import (
	"strconv"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// DeepSeek is the format of DeepSeek V3.1 and V3.2-Exp; DeepSeekV3 is that of V3 and R1. The form
// of V3.1:
//
//	<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//
// V3 and R1 write the word function, the mark, the name of the tool, and the arguments in a block
// named json. Both forms are read, with bars of Unicode or of ASCII, that of V3 also without the
// first mark of a call, which models leave out after that of all calls. Results of calls that the
// model made up are left out. V3.2 has another format: [DeepSeekV32].
//
// Thoughts are between <think> and </think>; past ones are not told again. If the model thinks, the
// prompt of V3.1 and R1 ends with <think>: ThoughtsOpen is for that. The zero value reads replies
// with the tag, and without thoughts.
//
// The forms were learned from the model card of deepseek-ai/DeepSeek-V3.1 and its chat template
// (August 2025), and from the chat templates of DeepSeek-V3-0324 (March 2025) and DeepSeek-R1
// (January 2025) as llama.cpp and vLLM have them, read in November 2026. R1's own template writes
// no line break between results; DeepSeekV3 writes it for R1, too.
var (
	DeepSeek = Format{row: deepSeekRow("", func(c messages.ToolCall) string {
		return c.Name + deepSeekMark("tool sep") + string(appendArguments(nil, c.Arguments))
	})}
	DeepSeekV3 = Format{row: deepSeekV3Row()}
)

// deepSeekRow is the row of DeepSeek, with what stands between two calls or results, and what
// writes a call.
func deepSeekRow(between string, write func(messages.ToolCall) string) *row {
	r := &row{
		name: "deepseek",
		told: `You can call tools. Write the calls as the examples show: all of them between ` + deepSeekMark("tool calls begin") + ` and ` + deepSeekMark("tool calls end") +
			`, and each between ` + deepSeekCall + ` and ` + deepSeekMark("tool call end") + `. The arguments are a JSON object that fits the schema of the tool. ` +
			`The results come in the next message, in the order of the calls, between ` + deepSeekMark("tool output begin") + ` and ` + deepSeekMark("tool output end") + `.` + inTags,
		tools: func(defs []tools.Definition) string {
			return "## Tools\nThese tools can be called:\n\n" + joinEach(defs, "\n\n", func(t tools.Definition) string {
				return "### " + t.Name + "\nDescription: " + t.Description + "\n\nParameters: " + compactSchema(t.Parameters)
			})
		},
		keep: thoughtsNever, results: joinResults(deepSeekMark("tool output begin"), deepSeekMark("tool output end"), between),
		begins:  []string{deepSeekMark("tool calls begin"), deepSeekCall, asciiBars(deepSeekMark("tool calls begin")), asciiBars(deepSeekCall)},
		closing: deepSeekEnds, more: deepSeekLeftOut,
		writeCalls: func(_ Format, calls []messages.ToolCall) string {
			return deepSeekMark("tool calls begin") + joinEach(calls, between, func(c messages.ToolCall) string {
				body := write(c)
				if c.Name == "function" { // the word alone says that a name follows
					body = writeDeepSeekV3(c)
				}
				return deepSeekCall + body + deepSeekMark("tool call end")
			}) + deepSeekMark("tool calls end")
		},
	}
	for i, marks := range deepSeekPairs {
		separator := deepSeekSeparators[i]
		v3 := namedForm{
			open: marks.open + "function" + separator, shown: "name", behind: "```json",
			closings: []string{marks.close, "```" + marks.close, "```\n" + marks.close, "```\r\n" + marks.close},
		}
		v31 := namedForm{open: marks.open, shown: "name", behind: separator, closings: []string{marks.close}}
		r.named = append(r.named, v3, v31) // the longer mark first
		v3.open = "function" + separator   // without the first mark
		r.named = append(r.named, v3)
	}
	return r
}

func deepSeekV3Row() *row {
	r := deepSeekRow("\n", writeDeepSeekV3)
	join := r.results
	r.results = func(outputs []messages.ToolOutput) string {
		return deepSeekMark("tool outputs begin") + join(outputs) + deepSeekMark("tool outputs end")
	}
	return r
}

// writeDeepSeekV3 writes what stands between the marks of a call.
func writeDeepSeekV3(c messages.ToolCall) string {
	return "function" + deepSeekMark("tool sep") + c.Name + "\n```json\n" + string(appendArguments(nil, c.Arguments)) + "\n```"
}

var (
	deepSeekCall       = deepSeekMark("tool call begin")
	deepSeekEnds       = withASCII(deepSeekMark("tool calls end")) // of calls together
	deepSeekSeparators = withASCII(deepSeekMark("tool sep"))       // between the name and the arguments of a call
	deepSeekPairs      = []tagPair{
		{open: deepSeekCall, close: deepSeekMark("tool call end")},
		{open: asciiBars(deepSeekCall), close: asciiBars(deepSeekMark("tool call end"))},
	}
)

// deepSeekMark returns a mark by its words.
func deepSeekMark(words string) string {
	return "<｜" + strings.ReplaceAll(words, " ", "▁") + "｜>"
}

// asciiBars returns a mark with ASCII bars, which some templates write.
func asciiBars(mark string) string { return strings.ReplaceAll(mark, "｜", "|") }

func withASCII(mark string) []string { return []string{mark, asciiBars(mark)} }

// deepSeekLeftOut returns the tags of what is left out of the text: marks without a meaning, and
// results that the model hallucinated.
func deepSeekLeftOut(Options, []tag) (tags []tag) {
	for _, words := range []string{"tool calls begin", "tool calls end", "tool output begin", "tool output end", "end of sentence"} {
		for _, mark := range withASCII(deepSeekMark(words)) {
			tags = append(tags, dropped(mark))
		}
	}
	for i, open := range withASCII(deepSeekMark("tool outputs begin")) {
		held := tagPair{open: open, close: withASCII(deepSeekMark("tool outputs end"))[i]}.thought()
		tags = append(tags, tag{open, func(start, after int) block { return omittedBlock{held.begin(start, after)} }})
	}
	return tags
}

// omittedBlock drops the text between two marks.
type omittedBlock struct{ block }

func (b omittedBlock) read(text string, final bool) verdict {
	v := b.block.read(text, final)
	v.parts = nil
	return v
}

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
