package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/messages"
)

// Pythonic is the format that Llama 4, Llama 3.2 and other models were trained on. It is a list of
// calls in Python syntax, such as [get_weather(city="Paris"), get_time()], at the beginning of a
// line, optionally between <|python_start|> and <|python_end|>. Arguments are literals with names;
// **{…} is used for names that are not valid in Python. Thoughts are between <think> and </think>.
// Consecutive calls are written as one list, and results between <tool_response> and
// </tool_response>.
//
// If Options.Tools are given, the first name must be that of a tool, unless the reply begins with
// the list. Then <function=name>…</function> is a call, too, as [Hermes] reads it.
//
// See https://github.com/meta-llama/llama-models/blob/main/models/llama4/prompt_format.md.
var Pythonic = Format{row: &row{
	name: "pythonic",
	told: `You can call tools. Write the calls as a list in the syntax of Python, on a line of its own: [name(argument=value, …), …]. ` +
		`Values are literals that fit the schema of the tool; write **{"key": value} for a key that is no Python name.
To write such a list or mark as plain text, put a backslash before it.`,
	results: taggedResults("tool_response"),
	syntax:  func(f Format) syntax { return f.pythonicSyntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		return writeGroups(parts, "\n", f.pythonicSyntax().escapeAll, thoughtTags.write, func(calls []messages.ToolCall) string {
			return "[" + joinEach(calls, ", ", writePythonCall) + "]"
		})
	},
}}

const (
	pythonStart = "<|python_start|>"
	pythonEnd   = "<|python_end|>"
)

func (o Options) pythonicSyntax() untaggedSyntax {
	tags := append([]tag{thoughtTags.thought(), dropped(pythonStart), dropped(pythonEnd)}, o.functionTags(new(int))...)
	return newUntaggedSyntax("[", pythonicMark{o}, append(tags, stopping("<|eom|>", "<|eot|>", "<|eom_id|>", "<|eot_id|>")...)...)
}

// pythonicMark is a bracket at the beginning of a line, followed by a name and a parenthesis.
type pythonicMark struct{ Options }

// stands implements [untaggedMark].
func (pythonicMark) stands(text string, at int) (yes, partly bool) {
	if !beginsLine(text, at) {
		return false, false
	}
	h := pyliteral.Lookahead{Text: text, Pos: at + 1}
	yes = h.Call()
	return yes, !yes && h.Partial
}

// beginsLine reports whether only a few blanks and backslashes, or one of the marks, precede a
// position on its line.
func beginsLine(text string, at int) bool {
	const most = 64
	if at > 0 && strings.IndexByte("\\ \t\n\r>", text[at-1]) < 0 {
		return false
	}
	line := strings.TrimRight(text[:at], `\`)
	before := strings.TrimRight(line[max(0, len(line)-most):], " \t")
	if before == "" {
		return len(line) < most
	}
	return before[len(before)-1] == '\n' || before[len(before)-1] == '\r' ||
		strings.HasSuffix(before, pythonStart) || strings.HasSuffix(before, thoughtTags.close)
}

// begin implements [untaggedMark].
func (m pythonicMark) begin(start int) block {
	return &pythonicBlock{Options: m.Options, start: start, scan: pyliteral.At(start)}
}

// pythonicBlock reads a list of calls.
type pythonicBlock struct {
	Options
	start int
	end   int  // of the list, once known
	cut   bool // it ends only with the text
	scan  pyliteral.Scanner
	begun bool // it is meant as a list of calls

	limited bool // it is text
}

// limitLookahead implements [lookaheadLimiter].
func (b *pythonicBlock) limitLookahead() { b.limited = true }

func (b *pythonicBlock) read(text string, final bool) verdict {
	if !b.begun {
		switch meant, partly := b.isMeant(text); {
		case partly && !final:
			return verdict{}
		case !meant, b.limited:
			return verdict{kind: isText, end: b.start + 1}
		}
		b.begun = true
	}
	if b.end == 0 {
		b.end = b.scan.End(text, final)
	}
	switch {
	case !final && (b.end == 0 || b.end == len(text)):
		return verdict{}
	case b.end == 0 && b.Mode == ModeText:
		return verdict{kind: isText, end: b.start + 1, seen: len(text)}
	case b.end == 0:
		b.end, b.cut = len(text), true
	case b.end < len(text) && text[b.end] == '(': // a Markdown link
		return verdict{kind: isText, end: b.end}
	}
	continued, wait := pyliteral.Continues(text, b.end, final)
	if wait {
		return verdict{}
	}
	parts, repairs, err := readPythonList(text[:b.end], b.start, b.Mode)
	if err == nil && continued {
		err = continuedError(text, b.end)
	}
	if err != nil {
		return verdict{kind: isBroken, end: b.end, err: err}
	}
	if b.cut {
		leaveOpen(parts)
	}
	return verdict{kind: isParts, end: b.end, parts: parts, repairs: repairs}
}

// isMeant reports whether the first name is that of a tool and the first argument is not followed
// by a comparison.
func (b *pythonicBlock) isMeant(text string) (meant, partly bool) {
	h := pyliteral.Lookahead{Text: text, Pos: b.start + 1}
	name := h.Name()
	h.Pos = b.start + 1
	if !h.Call() {
		return false, false
	}
	if rest := text[h.Pos:]; text[h.Pos-1] == '=' && (rest == "" || rest[0] == '=') {
		return false, rest == ""
	}
	return b.mayCall(name) || isStart(text, b.start) || follows(text, b.start, pythonStart), false
}

// readPythonList reads a list of calls from an offset of the reply to the end of the text.
func readPythonList(text string, at int, mode Mode) ([]Part, []Repair, *ParseError) {
	calls, changes, err := pyliteral.ReadList(text, at, mode == ModeRepair)
	if err != nil {
		return nil, nil, broken(err.Offset, err.Expected, text[err.Offset:], nil)
	}
	return pythonParts(calls, 0), repairsAt(0, changes), nil
}

// writePythonCall writes a call on one line. Arguments that are not a JSON object are written as a
// string.
func writePythonCall(c messages.ToolCall) string {
	arguments := string(appendArguments(nil, c.Arguments))
	if arguments[0] != '{' {
		return c.Name + "(**" + jsonscan.Quote(c.Arguments) + ")"
	}
	return pyliteral.WriteCall(c.Name, arguments)
}
