package markdownpolicy

import (
	"strings"

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
