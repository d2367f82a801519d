package markdownpolicy

import (
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/tools"
)

// LeftCalls finds the calls that a server left in the text of a reply, although the request offered
// its tools natively. Such calls end the reply: each is a block, or lines of its own, and nothing
// follows but blanks, or a result that the model invented ("<tool_response>", "<tool_result>", or a
// block named tool_result). A call may have any form that the policies read, as JSON, in Python or
// between tags. A call in a sentence, in a quotation or before prose is text.
//
// A LeftCalls is for one reply, which may arrive in pieces. It reads each byte once.
type LeftCalls struct {
	options Options

	pos    int // the text before it was read; the beginning of a line, or of what began one
	run    int // where the calls begin that may end the reply; -1: there are none so far
	units  []leftUnit
	inUnit bool // the last of the units has no end yet
	inCode bool // within a block of code
	code   commonmark.Fence
	inLine bool // within a line of text
	over   bool // the rest is an invented result
}

// leftUnit is a text that may hold calls, and nothing else.
type leftUnit struct {
	form       leftForm
	start, end int
	scan       jsonscan.Scanner
	python     pyliteral.Scanner
	fence      commonmark.Fence
	closing    *textscan.Finder // nil: it ends with the reply
}

type leftForm uint8

const (
	leftNone   leftForm = iota
	leftResult          // a result that the model invented
	leftCode            // a block of other code
	leftJSON
	leftPython
	leftTag
	leftNamed // between tags with the name of a tool
	leftBlock // a block that begins as one of these
)

// NewLeftCalls returns a LeftCalls for a reply in which these tools may be called.
func NewLeftCalls(offered []tools.Definition) *LeftCalls {
	return &LeftCalls{options: Options{Mode: ModeRepair, Tools: offered}, run: -1}
}

// Held returns the position from which the text so far may still be calls, with the blanks before
// them. Each text contains the one before.
func (l *LeftCalls) Held(text string) int {
	l.advance(text, false)
	at := l.pos
	switch {
	case l.inCode:
		return len(text)
	case l.run >= 0:
		at = l.run
	}
	return len(textscan.TrimRight(text[:at]))
}

// advance reads the text. It stops where more text is needed.
func (l *LeftCalls) advance(text string, final bool) {
	for l.pos < len(text) && !l.over {
		switch {
		case l.inCode:
			if !l.code.FindEnd(text, final) {
				return
			}
			l.pos, l.inCode, l.inLine = l.code.End, false, true
		case l.inLine:
			i := strings.IndexByte(text[l.pos:], '\n')
			if i < 0 {
				l.pos = len(text)
				return
			}
			l.pos, l.inLine = l.pos+i+1, false
		case l.inUnit:
			if !l.endUnit(text, final) {
				return
			}
		default:
			if !l.beginLine(text, final) {
				return
			}
		}
	}
}

// beginLine reads what begins a line: a unit or other text.
func (l *LeftCalls) beginLine(text string, final bool) bool {
	at := jsonscan.SkipBlanks(text, l.pos)
	if at == len(text) {
		return false
	}
	u := leftUnit{start: at}
	if commonmark.LineStart(text, at) >= 0 {
		if l.opens(&u, text, at, final) {
			return false
		}
	}
	switch {
	case u.form == leftResult && l.run >= 0:
		l.over = true
	case u.form == leftNone || u.form == leftResult:
		l.pos, l.inLine = at, true
		l.noCalls()
	case u.form == leftCode:
		l.pos, l.inCode, l.code = at, true, u.fence
		l.noCalls()
	default:
		if l.run < 0 {
			l.run = at
		}
		l.units, l.inUnit = append(l.units, u), true
	}
	return true
}

func (l *LeftCalls) noCalls() { l.run, l.units, l.inUnit = -1, nil, false }

// endUnit finds the end of the last unit, and of its line.
func (l *LeftCalls) endUnit(text string, final bool) bool {
	u := &l.units[len(l.units)-1]
	if u.end == 0 {
		switch u.form {
		case leftJSON:
			u.end, _ = u.scan.End(text)
		case leftPython:
			u.end = u.python.End(text, final)
		case leftBlock:
			if u.fence.FindEnd(text, final) {
				u.end = u.fence.End
			}
		case leftTag, leftNamed:
			if u.closing != nil {
				if i := u.closing.Next(text, u.start); i >= 0 {
					u.end = i + len(u.closing.Mark)
				}
			}
		}
		if u.end == 0 && !final {
			return false
		}
		if u.end == 0 {
			u.end = len(text)
		}
	}
	behind := u.end
	for behind < len(text) && strings.IndexByte(" \t;,", text[behind]) >= 0 {
		behind++
	}
	switch {
	case behind < len(text) && commonmark.LineBreak(text, behind) == 0:
		l.pos, l.inLine = behind, true
		l.noCalls()
	case behind == len(text) && !final:
		return false
	default:
		l.pos, l.inUnit = behind, false
	}
	return true
}

// opens finds out which unit begins at a position.
func (l *LeftCalls) opens(u *leftUnit, text string, at int, final bool) (wait bool) {
	rest := text[at:]
	for _, mark := range leftResults {
		if strings.HasPrefix(rest, mark) {
			u.form = leftResult
			return false
		}
		wait = wait || !final && l.run >= 0 && strings.HasPrefix(mark, rest)
	}
	switch c := rest[0]; {
	case wait:
	case c == '`' || c == '~':
		return l.opensBlock(u, text, at, final)
	case c == '{' || c == '[':
		return l.opensJSON(u, text, at, final)
	case c == '<':
		return l.opensTag(u, text, at, final)
	default:
		return l.opensPython(u, text, at, at, final)
	}
	return wait
}

// leftResults are the marks of results that models invent after their calls.
var leftResults = []string{"<tool_response>", "<tool_result>", "```tool_result", "```tool_response", "~~~tool_result"}

// opensBlock reads the line that opens a block, and what the block begins with.
func (l *LeftCalls) opensBlock(u *leftUnit, text string, at int, final bool) (wait bool) {
	run := textscan.SkipRun(text, at, text[at])
	if run-at < 3 {
		return run == len(text) && !final
	}
	u.fence = commonmark.Fence{Start: at}
	if !u.fence.ReadOpening(text, final) {
		return true
	}
	if u.fence.None() {
		return false
	}
	u.form = leftCode
	if !slices.Contains(leftInfos, strings.ToLower(u.fence.Info)) {
		return false
	}
	begins := jsonscan.SkipBlanks(text, u.fence.Body)
	if begins >= len(text) {
		return !final
	}
	if text[begins] == '`' || text[begins] == '~' {
		return false
	}
	var held leftUnit
	wait = l.opens(&held, text, begins, final)
	if held.form >= leftJSON {
		u.form = leftBlock
	}
	return wait
}

// leftInfos are the names of blocks that may hold calls.
var leftInfos = []string{
	"", "json", infoCall, "tool_calls", "function_call", "function_calls", "tool_code", "tool_use", "python", "xml", "text", "plaintext",
}

// opensJSON looks at the first key behind the opening brackets.
func (l *LeftCalls) opensJSON(u *leftUnit, text string, at int, final bool) (wait bool) {
	key := at
	for key < len(text) && key-at < mostBlanks && (textscan.IsBlank(text[key]) || text[key] == '{' || text[key] == '[') {
		key++
	}
	if key == len(text) {
		return !final
	}
	if text[key] != '"' && text[key] != '\'' {
		if !strings.Contains(text[at:key], "{") {
			return l.opensList(u, text, at, key, final)
		}
		return false
	}
	for _, name := range leftKeys {
		quoted := text[key:key+1] + name + text[key:key+1]
		switch rest := text[key:]; {
		case strings.HasPrefix(rest, quoted):
			u.form, u.scan = leftJSON, jsonscan.At(at)
			return false
		case strings.HasPrefix(quoted, rest):
			wait = !final
		}
	}
	return wait
}

// leftKeys are the keys that an object of a call may begin with.
var leftKeys = []string{"name", "arguments", "parameters", "type", "function", "id", "index", "call_id", "tool_call_id"}

// opensList reads a list in Python, or the mark of Mistral, which begins like one.
func (l *LeftCalls) opensList(u *leftUnit, text string, at, name int, final bool) (wait bool) {
	switch rest := text[at:]; {
	case strings.HasPrefix(rest, mistralMark):
		u.form = leftTag
		return false
	case strings.HasPrefix(mistralMark, rest) && !final:
		return true
	default:
		return l.opensPython(u, text, at, name, final)
	}
}

// opensPython looks for the name of a tool with a parenthesis behind it.
func (l *LeftCalls) opensPython(u *leftUnit, text string, at, name int, final bool) (wait bool) {
	for i := range l.options.Tools {
		switch head, rest := l.options.Tools[i].Name+"(", text[name:]; {
		case strings.HasPrefix(rest, head):
			u.form, u.python = leftPython, pyliteral.At(at)
			return false
		case strings.HasPrefix(head, rest):
			wait = !final
		}
	}
	return wait
}

// opensTag looks for the marks of calls.
func (l *LeftCalls) opensTag(u *leftUnit, text string, at int, final bool) (wait bool) {
	rest := text[at:]
	found := func(open, closing string) bool {
		if strings.HasPrefix(rest, open) {
			u.form = leftTag
			if closing != "" {
				u.closing = &textscan.Finder{Mark: closing}
			}
			return true
		}
		wait = wait || strings.HasPrefix(open, rest) && !final
		return false
	}
	for _, mark := range leftMarks {
		if found(mark.open, mark.close) {
			return false
		}
	}
	for i := range l.options.Tools {
		name := l.options.Tools[i].Name
		if found("<"+name+">", "</"+name+">") || found("<"+name+"/>", "/>") {
			u.form = leftNamed
			return false
		}
	}
	return wait
}

// leftMarks begin calls of the formats with tags. A call without a closing mark here extends to the
// end of the reply.
var leftMarks = []tagPair{
	{open: "<tool_call>", close: "</tool_call>"}, {open: functionMark, close: functionEnd},
	{open: "<function_calls>", close: "</function_calls>"}, {open: "<start_function_call>", close: "<end_function_call>"},
	{open: "<|tool_call"}, {open: kimiSection}, {open: pythonTag}, {open: pythonStart}, {open: "<｜tool▁call"}, {open: "<|tool▁call"},
	{open: harmonyStart + "assistant"}, {open: harmonyChannel},
}
