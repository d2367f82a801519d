package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// DeepSeek is the format of DeepSeek V3.1 and V3.2-Exp, and of V3 and R1 with DeepSeekV3. The zero
// value writes the form of V3.1:
//
//	<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//
// V3 and R1 write the word function, the mark, the name of the tool, and the arguments in a block
// named json. Both forms are read, with bars of Unicode or of ASCII. Results of calls that the
// model made up are left out. V3.2 has another format, which is not read.
//
// If Options.Tools has the tool, a call is also read without the mark that begins it, provided that
// it begins a line and nothing but calls follows: the name and the separator, or the name and a
// block named json with the arguments that the tool has.
//
// Thoughts are between <think> and </think>; past ones are not told again. If the model thinks, the
// prompt of V3.1 and R1 ends with <think>: ThoughtsOpen is for that. The zero value reads replies
// with the tag, and without thoughts.
//
// The forms were learned from the model card of deepseek-ai/DeepSeek-V3.1 and its chat template
// (August 2025), and from the chat templates of DeepSeek-V3-0324 (March 2025) and DeepSeek-R1
// (January 2025) as llama.cpp and vLLM have them, read in November 2026. R1's own template writes no
// line break between results; DeepSeekV3 writes it for R1, too.
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
	parts, complete := d.Thoughts.write(parts)
	thought := d.Thoughts.thoughtWriter(d.begins())
	return complete(writeGroups(parts, "", d.syntax().escape, thought, func(calls []messages.ToolCall) string {
		return deepSeekMark("tool calls begin") + joinEach(calls, deepSeekBetween[d.Version], func(c messages.ToolCall) string {
			arguments := string(appendArguments(nil, c.Arguments))
			body := c.Name + deepSeekMark("tool sep") + arguments
			if d.Version == DeepSeekV3 {
				body = "function" + deepSeekMark("tool sep") + c.Name + "\n```json\n" + arguments + "\n```"
			}
			return deepSeekMark("tool call begin") + body + deepSeekMark("tool call end")
		}) + deepSeekMark("tool calls end")
	}))
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
	open, separator, end := deepSeekCall, deepSeekMark("tool sep"), deepSeekMark("tool call end")
	for _, m := range [][]string{{open, separator, end}, {asciiBars(open), asciiBars(separator), asciiBars(end)}} {
		form := newNamedForm(m[0]+"name"+m[1]+"{…}"+m[2], m[1], m[2])
		form.fenced = true
		closing = append(closing, m[2])
		tags = append(tags, form.tag(d.Options, m[0]))
	}
	return d.Thoughts.thinking(d.Options, d.begins(), closing, append(tags, d.bareTags()...)...)
}

// bareTags returns the tags of calls without the mark that begins a call.
func (d DeepSeek) bareTags() (tags []tag) {
	const block = "\n```json\n"
	stop, end := deepSeekMark("end of sentence"), deepSeekMark("tool call end")
	names, form := map[string]string{}, &bareForm{Options: d.Options, closes: []string{end, asciiBars(end)}, ends: append([]string{stop, asciiBars(stop)}, deepSeekEnds...), fenced: true}
	for _, t := range d.Tools {
		marks := []string{t.Name + block, "function" + t.Name + block}
		for _, separator := range deepSeekSeparators {
			marks = append(marks, t.Name+separator, "function"+separator+t.Name+block)
		}
		for _, mark := range marks {
			names[mark] = t.Name
		}
		form.marks = append(form.marks, marks...)
	}
	form.head = func(text string, start int, final bool) (name string, inner int, wait bool) {
		for _, mark := range form.marks {
			if !strings.HasPrefix(text[start:], mark) {
				continue
			}
			window := text[:min(len(text), start+len(mark)+longestHead)]
			switch inner = jsonscan.SkipBlanks(window, start+len(mark)); {
			case inner == len(window):
				return "", 0, len(window) == len(text) && !final
			case text[inner] == '{':
				return names[mark], inner, false
			}
		}
		return "", 0, false
	}
	return form.tags()
}
