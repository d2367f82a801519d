package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// DeepSeek is the format of DeepSeek V3.1 and V3.2-Exp, and of V3 and R1 with DeepSeekV3. The zero
// value writes the form of V3.1:
//
//	<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//
// V3 and R1 write the word function, the mark, the name of the tool, and the arguments in a block
// named json. Both forms are read, with bars of Unicode or of ASCII, that of V3 also without the
// first mark of a call, which models leave out after that of all calls. Results of calls that the
// model made up are left out. V3.2 has another format, which is not read.
//
// Thoughts are between <think> and </think>; past ones are not told again. If the model thinks, the
// prompt of V3.1 and R1 ends with <think>: ThoughtsOpen is for that. The zero value reads replies
// with the tag, and without thoughts.
//
// The forms were learned from the model card of deepseek-ai/DeepSeek-V3.1 and its chat template
// (August 2025), and from the chat templates of DeepSeek-V3-0324 (March 2025) and DeepSeek-R1
// (January 2025) as llama.cpp and vLLM have them, read in November 2026. R1's own template writes
// no line break between results; DeepSeekV3 writes it for R1, too.
type DeepSeek struct {
	Options
	Version  DeepSeekVersion // "" is DeepSeekV31
	Thoughts Thoughts        // "" is ThoughtsTagged
}

// DeepSeekVersion says in which form [DeepSeek] writes calls and results.
type DeepSeekVersion string

// The versions.
const (
	DeepSeekV31 DeepSeekVersion = "v3.1" // DeepSeek V3.1 and V3.2-Exp
	DeepSeekV3  DeepSeekVersion = "v3"   // DeepSeek V3 and R1
)

// deepSeekBetween is what stands between two calls, and between two results.
var deepSeekBetween = map[DeepSeekVersion]string{DeepSeekV3: "\n"}

var (
	deepSeekCall = deepSeekMark("tool call begin")
	deepSeekEnds = []string{deepSeekMark("tool calls end"), asciiBars(deepSeekMark("tool calls end"))} // of calls together
)

// Name implements [Namer].
func (DeepSeek) Name() string { return "deepseek" }

// WithTools implements [Tooled].
func (d DeepSeek) WithTools(defs []tools.Definition) Policy {
	d.Options = d.withTools(defs)
	return d
}

// ParseResponse implements [Policy].
func (d DeepSeek) ParseResponse(text string) (Document, error) { return parse(d.NewParser(), text) }

// NewParser implements [Streamer].
func (d DeepSeek) NewParser() Parser { return newMarkParser(d.Name(), d.Mode, d.syntax()) }

// deepSeekMark returns a mark by its words.
func deepSeekMark(words string) string {
	return "<｜" + strings.ReplaceAll(words, " ", "▁") + "｜>"
}

// Render implements [Renderer].
func (d DeepSeek) Render(parts []messages.AssistantContent) string {
	return d.Thoughts.write(parts, "", d.syntax().escape, d.begins(), func(calls []messages.ToolCall) string {
		return deepSeekMark("tool calls begin") + joinEach(calls, deepSeekBetween[d.Version], func(c messages.ToolCall) string {
			arguments := string(appendArguments(nil, c.Arguments))
			body := c.Name + deepSeekMark("tool sep") + arguments
			if d.Version == DeepSeekV3 || c.Name == "function" { // the word alone says that a name follows
				body = "function" + deepSeekMark("tool sep") + c.Name + "\n```json\n" + arguments + "\n```"
			}
			return deepSeekMark("tool call begin") + body + deepSeekMark("tool call end")
		}) + deepSeekMark("tool calls end")
	})
}

// FormatQuery implements [Policy].
func (d DeepSeek) FormatQuery(history messages.History) (messages.History, error) {
	join := joinResults(deepSeekMark("tool output begin"), deepSeekMark("tool output end"), deepSeekBetween[d.Version])
	return thoughtsNever.tell(history, d.Render, func(outputs []messages.ToolOutput) string {
		if d.Version == DeepSeekV3 {
			return deepSeekMark("tool outputs begin") + join(outputs) + deepSeekMark("tool outputs end")
		}
		return join(outputs)
	})
}

// FormatInstructions implements [Policy].
func (d DeepSeek) FormatInstructions(defs []tools.Definition) string {
	return instructWith(`You can call tools. Write the calls as the examples show: all of them between `+deepSeekMark("tool calls begin")+` and `+deepSeekMark("tool calls end")+
		`, and each between `+deepSeekMark("tool call begin")+` and `+deepSeekMark("tool call end")+`. The arguments are a JSON object that fits the schema of the tool. `+
		`The results come in the next message, in the order of the calls, between `+deepSeekMark("tool output begin")+` and `+deepSeekMark("tool output end")+`.
Thoughts that are not for the user stand between <think> and </think>, before the calls. All other text is for the user.
To write one of these marks as plain text, put a backslash before it.`, d.examples(), defs,
		"## Tools\nThese tools can be called:\n\n"+joinEach(defs, "\n\n", func(t tools.Definition) string {
			return "### " + t.Name + "\nDescription: " + t.Description + "\n\nParameters: " + compactSchema(t.Parameters)
		}))
}

func (d DeepSeek) examples() []example { return workedExamples(d.Render) }

// begins returns the marks that begin calls.
func (DeepSeek) begins() []string {
	calls := deepSeekMark("tool calls begin")
	return []string{calls, deepSeekCall, asciiBars(calls), asciiBars(deepSeekCall)}
}

func (d DeepSeek) syntax() *hermesSyntax {
	tags, closing := DialectDeepSeek.leftOut(), slices.Clone(deepSeekEnds)
	for i, marks := range DialectDeepSeek.pairs() {
		separator := deepSeekSeparators[i]
		v31 := namedForm{open: marks.open, shown: "name", behind: separator, closings: []string{marks.close}}
		v3 := namedForm{
			open: marks.open + "function" + separator, shown: "name", behind: "```json",
			closings: []string{marks.close, "```" + marks.close, "```\n" + marks.close, "```\r\n" + marks.close},
		}
		tags = append(tags, v3.tag(d.Options), v31.tag(d.Options)) // the longer mark first
		v3.open = "function" + separator                           // without the first mark
		tags = append(tags, v3.tag(d.Options))
		closing = append(closing, marks.close)
	}
	return d.Thoughts.thinking(d.Options, d.begins(), closing, tags...)
}
