package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
)

// Gemma is the format of Gemma 3. Calls are in Python syntax in a code block named tool_code, one on
// each line; a result is in a block named tool_output:
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
