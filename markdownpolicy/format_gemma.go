package markdownpolicy

import (
	"maps"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Gemma is the format of Gemma 3. Calls are in Python syntax in a code block named tool_code, one
// on each line; a result is in a block named tool_output:
//
//	```tool_code
//	get_weather(city="Paris")
//	```
//
// A call may be the argument of print, and **{…} is used for names that are not valid in Python.
// Thoughts are between <think> and </think>, although Gemma 3 was not trained on them. A block
// without an end is accepted at the end of the text, if its calls are complete.
//
// Gemma 3 has no marks for calls, and its chat template has no tools: the prompt says how calls are
// written. The form was learned from ai.google.dev/gemma/docs (the pages on function calling and on
// an application that uses it, 2025), and from the example of Philipp Schmid of Google DeepMind
// (philschmid.de/gemma-function-calling, March 2025), read in November 2026. The other form that
// Google shows, a list of calls without a block, is [Pythonic].
var Gemma = Format{row: &row{
	name: "gemma",
	told: "You can call tools. Write calls in the syntax of Python, each on a line of its own, in a code block named tool_code: name(argument=value, …). " +
		"Values are literals that fit the schema of the tool; write **{\"key\": value} for a key that is no Python name. Call no other functions, and use no variables. " +
		"The results come in the next message, in the order of the calls, in blocks named tool_output. Never write such a block yourself.\n" +
		"Thoughts that are not for the user stand between <think> and </think>, before the calls. All other text is for the user.\n" +
		"To show a tool_code block to the user instead of using it, write a backslash before it.",
	keep: thoughtsAll,
	results: func(outputs []messages.ToolOutput) string {
		return joinEach(outputs, "\n", func(o messages.ToolOutput) string { return commonmark.WriteFence(gemmaOutput, toldResult(o)) })
	},
	syntax: func(f Format) syntax { return f.gemmaSyntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		return writeGroups(parts, "\n", f.gemmaSyntax().escapeAll, thoughtTags.write, func(calls []messages.ToolCall) string {
			return commonmark.WriteFence(gemmaCall, joinEach(calls, "\n", func(c messages.ToolCall) string {
				return strings.ReplaceAll(writePythonCall(c), "```", "``\\x60") // in a string: no fence
			}))
		})
	},
}}

const (
	gemmaCall   = "tool_code"
	gemmaOutput = "tool_output"
	gemmaStop   = "<end_of_turn>" // some servers leave it in the text
)

func (o Options) gemmaSyntax() untaggedSyntax {
	return newUntaggedSyntax("`", gemmaMark{o}, append(stopping(gemmaStop), thoughtTags.thought())...)
}

// gemmaMark is the beginning of a block of calls.
type gemmaMark struct{ Options }

// stands implements [untaggedMark]. A backslash before the mark is read as if it were not there.
func (gemmaMark) stands(text string, at int) (yes, partly bool) {
	if at > 0 && text[at-1] == '`' || commonmark.LineStart(text, len(strings.TrimRight(text[:at], `\`))) < 0 {
		return false, false
	}
	const longest = 64 // of a fence
	end := textscan.SkipRun(text[:min(len(text), at+longest)], at, '`')
	rest, enough := text[end:], end-at >= 3
	yes = enough && strings.HasPrefix(rest, gemmaCall)
	return yes, !yes && (rest == "" || enough && strings.HasPrefix(gemmaCall, rest))
}

// begin implements [untaggedMark].
func (m gemmaMark) begin(start int) block {
	return &gemmaBlock{Options: m.Options, fence: commonmark.Fence{Start: start}}
}

// gemmaBlock reads a block of calls.
type gemmaBlock struct {
	Options
	fence commonmark.Fence
}

func (b *gemmaBlock) read(text string, final bool) verdict {
	f := &b.fence
	switch opened := f.ReadOpening(text, final); {
	case opened && f.Info != gemmaCall:
		return verdict{kind: isText, end: f.Start + f.Length}
	case !opened || !f.FindEnd(text, final) && !final:
		return verdict{}
	}
	end, body, open := f.End, f.Raw(text), false
	if !f.Closed() { // the run that closes the block may be cut off, or on the line of a call
		end = len(text)
		written := textscan.TrimRight(strings.TrimSuffix(textscan.TrimRight(body), gemmaStop))
		body = strings.TrimRight(written, "`")
		open = len(written)-len(body) < f.Length
	}
	at := f.Body + len(body) - len(textscan.TrimLeft(body))
	parts, repairs, err := b.calls(textscan.Trim(body), at)
	if err != nil {
		return verdict{kind: isBroken, end: end, err: err}
	}
	divide(parts, f.Start, end)
	if open {
		leaveOpen(parts)
	}
	return verdict{kind: isParts, end: end, parts: parts, repairs: repairs}
}

// calls reads the content of a block at an offset of the reply.
func (b *gemmaBlock) calls(body string, at int) ([]Part, []Repair, *ParseError) {
	around := ""
	if b.tool("print") == nil {
		around = "print"
	}
	return readPython(around, body, at, b.Mode)
}

// Gemma4 is the format of Gemma 4. Each call is between marks, with a mark on both sides of a text;
// names are written without, in their order:
//
//	<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>
//
// Gemma4 writes a call as JSON, as [Hermes] does, if the form cannot express it, and also reads
// what Hermes reads between the marks. Results are written as the template does, in the order of
// the calls. Thoughts are between <|channel>thought and <channel|>; those before the last message
// of the user are not told again.
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
