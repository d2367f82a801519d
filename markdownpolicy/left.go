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
	own     []leftHead // what a line may begin with, besides leftHeads
	python  []leftHead // those of calls in Python

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
	leftHead
	start, end int
	scan       pyliteral.Scanner
	fence      commonmark.Fence
	closing    textscan.Finder
}

// leftHead is what a unit begins with.
type leftHead struct {
	form leftForm
	tagPair
}

type leftForm uint8

const (
	leftNone   leftForm = iota
	leftResult          // a result that the model invented
	leftCode            // a block of other code
	leftCall            // a call in brackets: JSON or Python
	leftTag             // between tags; without a closing one it extends to the end of the reply
	leftNamed           // between tags with the name of a tool
	leftBlock           // a block that begins as one of these
)

// NewLeftCalls returns a LeftCalls for a reply in which these tools may be called.
func NewLeftCalls(offered []tools.Definition) *LeftCalls {
	l := &LeftCalls{options: Options{Mode: ModeRepair, Tools: offered}, run: -1}
	l.own = make([]leftHead, 0, 3*len(offered))
	for i := range offered {
		name := offered[i].Name
		python := leftHead{leftCall, tagPair{open: name + "("}}
		l.python = append(l.python, python)
		l.own = append(l.own, python, leftHead{leftNamed, tagPair{open: "<" + name + ">", close: "</" + name + ">"}}, leftHead{leftNamed, tagPair{open: "<" + name + "/>", close: "/>"}})
	}
	return l
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
	if commonmark.LineStart(text, at) >= 0 && l.opens(&u, text, at, final) {
		return false
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
		case leftCall:
			u.end = u.scan.End(text, final)
		case leftBlock:
			if u.fence.FindEnd(text, final) {
				u.end = u.fence.End
			}
		default:
			if i := u.closing.Next(text, u.start); i >= 0 && u.close != "" {
				u.end = i + len(u.close)
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
	from := at
	if u.leftHead, wait = l.headAt(text, at, final); u.form == leftNone && !wait {
		switch c := text[at]; c {
		case '`', '~':
			return l.opensBlock(u, text, at, final)
		case '{', '[':
			for from < len(text) && from-at < mostBlanks && strings.IndexByte("{[ \t\r\n", text[from]) >= 0 {
				from++
			}
			heads := l.python
			if strings.Contains(text[at:from], "{") {
				heads = leftKeys
			}
			u.leftHead, wait = headAt(text, from, heads, final)
		}
	}
	u.scan, u.closing.Mark = pyliteral.At(at), u.close
	return wait
}

// headAt returns what a line begins with at a position.
func (l *LeftCalls) headAt(text string, at int, final bool) (found leftHead, wait bool) {
	if found, wait = headAt(text, at, leftHeads, final); found.form == leftNone {
		var other bool
		found, other = headAt(text, at, l.own, final)
		wait = found.form == leftNone && (wait || other)
	}
	return found, wait
}

// headAt returns the one of some heads that stands at a position.
func headAt(text string, at int, heads []leftHead, final bool) (found leftHead, wait bool) {
	rest := text[at:]
	for i := range heads {
		if strings.HasPrefix(rest, heads[i].open) {
			return heads[i], false
		}
		wait = wait || !final && strings.HasPrefix(heads[i].open, rest)
	}
	return leftHead{}, wait
}

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
	if held.form >= leftCall {
		u.form = leftBlock
	}
	return wait
}

// leftInfos are the names of blocks that may hold calls.
var leftInfos = []string{
	"", "json", infoCall, "tool_calls", "function_call", "function_calls", "tool_code", "tool_use", "python", "xml", "text", "plaintext",
}

var (
	// leftKeys are the keys that an object of a call may begin with.
	leftKeys = headsOf(leftCall, `"name"`, `"arguments"`, `"parameters"`, `"type"`, `"function"`, `"id"`, `"index"`, `"call_id"`, `"tool_call_id"`, `'name'`, `'arguments'`)

	// leftHeads are the marks of the formats, and of results that models invent after their calls.
	leftHeads = slices.Concat(
		headsOf(leftResult, "<tool_response>", "<tool_result>", "```tool_result", "```tool_response", "~~~tool_result"),
		[]leftHead{
			{leftTag, tagPair{open: "<tool_call>", close: "</tool_call>"}},
			{leftTag, tagPair{open: functionMark, close: functionEnd}},
			{leftTag, tagPair{open: "<name>", close: "</arguments>"}}, // XML, where a server left out the outer tags
			{leftTag, tagPair{open: "<function_calls>", close: "</function_calls>"}},
			{leftTag, tagPair{open: "<start_function_call>", close: "<end_function_call>"}},
		},
		headsOf(leftTag, mistralMark, "<|tool_call", kimiSection, pythonTag, pythonStart, "<｜tool▁call", "<|tool▁call", harmonyStart+"assistant", harmonyChannel),
	)
)

func headsOf(form leftForm, marks ...string) (heads []leftHead) {
	for _, mark := range marks {
		heads = append(heads, leftHead{form, tagPair{open: mark}})
	}
	return heads
}
