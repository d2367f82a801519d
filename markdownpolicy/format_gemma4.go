package markdownpolicy

import (
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Gemma4 is the format of Gemma 4. Each call is between marks, with a mark on both sides of a text;
// names are written without, in their order:
//
//	<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>
//
// Gemma4 writes a call as JSON, as [Hermes] does, if the form cannot express it, and also reads what
// Hermes reads between the marks. Results are written as the template does, in the order of the
// calls. Thoughts are between <|channel>thought and <channel|>; those before the last message of
// the user are not told again.
//
// The form was learned from the chat template of google/gemma-4-31B-it as llama.cpp has it, and
// from that of vLLM, read in November 2026.
var Gemma4 = Format{row: &row{
	name: "gemma4",
	told: `You can call tools. Write each call as the example shows: the name of the tool, and its arguments in braces, each with its name, a colon and the value. ` +
		`A text stands between two marks ` + gemma4Quote + `; other values are written as JSON, but with names and texts in this form. The results come in the next message, in the order of the calls.
Thoughts that are not for the user stand between <|channel>thought and <channel|>, before the calls. All other text is for the user.
To write one of these marks as plain text, put a backslash before it.`,
	tools: func(defs []tools.Definition) string {
		return joinEach(defs, "\n", func(d tools.Definition) string {
			return "<|tool>declaration:" + d.Name + "{description:" + gemma4Text(d.Description) + ",parameters:" + gemma4JSON(compactSchema(d.Parameters)) + "}<tool|>"
		})
	},
	keep: thoughtsOfTurn,
	results: func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, "", func(o messages.ToolOutput) string {
			text := strings.ReplaceAll(toldResult(o), gemma4Quote, `\`+gemma4Quote)
			return "<|tool_response>response:" + o.ToolName + "{value:" + gemma4Text(text) + "}<tool_response|>"
		})
	},
	syntax: func(f Format) syntax { return f.gemma4Syntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		s := f.gemma4Syntax()
		return writeGroups(parts, "", func(text string) string { return unescaping(s.escape(text)) }, gemma4Thought.writeInline, func(calls []messages.ToolCall) string {
			return joinEach(calls, "", func(c messages.ToolCall) string {
				return f.nativeOrJSON([]messages.ToolCall{c}, func([]messages.ToolCall) string {
					return gemma4Marks.open + "call:" + c.Name + gemma4JSON(string(appendArguments(nil, c.Arguments))) + gemma4Marks.close
				})
			})
		})
	},
	calls: []tagPair{gemma4Marks},
}}

const gemma4Quote = `<|"|>` // around a text

var (
	gemma4Marks   = tagPair{open: "<|tool_call>", close: "<tool_call|>"}
	gemma4Thought = tagPair{open: "<|channel>thought\n", close: "<channel|>"}
)

func (o Options) gemma4Syntax() tagSyntax {
	ends := finders(gemma4Marks.close)
	return newTagSyntax(append(stopping("<turn|>", "<|tool_response>"), gemma4Thought.thought(), tag{gemma4Marks.open, func(start, after int) block {
		return &callBlock{Options: o, start: start, after: after, ends: ends, body: Options.readGemma4, values: escapeForm(gemma4Quote)}
	}})...)
}

// readGemma4 reads what stands between the marks of a call.
func (o Options) readGemma4(text string, at int) ([]Part, []Repair, *ParseError) {
	body := textscan.Trim(text)
	at += strings.Index(text, body)
	if !strings.HasPrefix(body, "call:") {
		return o.readBody(body, at)
	}
	return readEscaped(gemma4Quote, body, at)
}

// gemma4JSON writes JSON in the form of Gemma 4.
func gemma4JSON(text string) string {
	switch text[0] {
	case '{':
		members := maps.Collect(jsonscan.Members(text))
		return "{" + joinEach(slices.Sorted(maps.Keys(members)), ",", func(key string) string { return key + ":" + gemma4JSON(members[key]) }) + "}"
	case '[':
		var elements []string
		for _, element := range jsonscan.Elements(text) {
			elements = append(elements, gemma4JSON(element))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case '"':
		return gemma4Text(jsonscan.Unquote(text))
	default:
		return text
	}
}

func gemma4Text(text string) string { return gemma4Quote + text + gemma4Quote }
