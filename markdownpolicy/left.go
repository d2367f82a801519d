package markdownpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/pyliteral"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
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

// Left is what ends a reply.
type Left struct {
	Start   int                 // where it begins in the text
	Calls   []messages.ToolCall // the calls, without ids, each of an offered tool with arguments that fit its schema
	Ended   bool                // an invented result follows, so that the reply is complete here
	Problem string              // for the model: why what is plainly a call is none; then there are no Calls
}

// Read reads the whole text of a reply. ok is false if it ends with no calls.
func (l *LeftCalls) Read(text string) (left Left, ok bool) {
	l.advance(text, true)
	left.Ended = l.over
	var units [][]messages.ToolCall // from the last
	for _, u := range slices.Backward(l.units) {
		calls, problem := l.calls(text, &u)
		if calls == nil && problem == "" {
			break
		}
		left.Start, ok = u.start, true
		left.Problem = cmp.Or(problem, left.Problem)
		units = append(units, calls)
	}
	if left.Problem == "" {
		slices.Reverse(units)
		left.Calls = slices.Concat(units...)
	}
	return left, ok
}

// IsQuoted reports whether what ends a reply stands in a message of a user or a tool, however it is
// spaced or escaped: then it is not the model's own.
func (l Left) IsQuoted(text string, asked messages.History) bool {
	packed := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, `\`, "")), "") }
	left := packed(text[l.Start:])
	return slices.ContainsFunc(asked, func(m messages.Message) bool {
		switch m := m.(type) {
		case messages.User:
			return strings.Contains(packed(m.Text()), left)
		case messages.Tool:
			return strings.Contains(packed(m.Output), left)
		default:
			return false
		}
	})
}

// calls reads the calls of a unit. Without a problem and calls it is text.
func (l *LeftCalls) calls(text string, u *leftUnit) (calls []messages.ToolCall, problem string) {
	body := text[u.start:u.end]
	if u.form == leftBlock {
		body = u.fence.Content(text)
	}
	body = textscan.Trim(body)
	parts, err := l.parts(body)
	plain := l.isPlain(body)
	for _, p := range parts {
		c, isCall := p.Content.(messages.ToolCall)
		if !isCall {
			return nil, ""
		}
		if problem := l.wrong(c); problem != "" {
			if !plain && l.options.tool(c.Name) == nil || l.options.isDefinition(c.Name, c.Arguments) {
				return nil, ""
			}
			return nil, problem
		}
		calls = append(calls, c)
	}
	switch {
	case err == nil:
		return calls, ""
	case plain && !strings.Contains(body, `"properties"`):
		return nil, fmt.Sprintf("the call at the end of the reply cannot be read: %s was expected", err.Expected)
	default:
		return nil, ""
	}
}

// parts reads the text of a unit with the policy that finds nothing but calls in it.
func (l *LeftCalls) parts(body string) (parts []Part, err *ParseError) {
	if body != "" && body[0] != '<' && !strings.HasPrefix(body, mistralMark) || strings.HasPrefix(body, functionMark) {
		tags := toolCallMarks
		for _, form := range undoubled(body) {
			if parts, err = read(Hermes.With(l.options), tags.open+"\n"+form+"\n"+tags.close); err == nil {
				break
			}
		}
		return parts, err
	}
	if strings.HasPrefix(body, "<name>") {
		body = "<tool_call>" + body + "</tool_call>"
	}
	for _, p := range leftPolicies {
		found, problem := read(p.With(l.options), body)
		if problem == nil && len(found) > 0 && firstStart[messages.Text](found) < 0 {
			return found, nil
		}
		if err == nil {
			err = problem
		}
	}
	if err == nil {
		err = broken(0, hermesForm.expects(), body, nil)
	}
	return nil, err
}

func read(p Policy, text string) ([]Part, *ParseError) {
	doc, err := p.ParseResponse(text)
	if e, ok := err.(*ParseError); ok { //nolint:errorlint // the policies return it as it is
		return nil, e
	}
	return doc.Parts, nil
}

// undoubled returns an object, and if its braces are doubled, as in templates, the object with the
// outer ones or with all of them once.
func undoubled(body string) []string {
	if !strings.HasPrefix(body, "{{") || !strings.HasSuffix(body, "}}") {
		return []string{body}
	}
	return []string{body[1 : len(body)-1], strings.ReplaceAll(strings.ReplaceAll(body, "{{", "{"), "}}", "}")}
}

// wrong says what is wrong with a call; "" if it can be made.
func (l *LeftCalls) wrong(c messages.ToolCall) string {
	def := l.options.tool(c.Name)
	if def == nil {
		names := make([]string, len(l.options.Tools))
		for i, d := range l.options.Tools {
			names[i] = jsonscan.Quote(d.Name)
		}
		return fmt.Sprintf("the reply ends with a call of the tool %q, which does not exist; the tools are: %s", c.Name, strings.Join(names, ", "))
	}
	parameters := def.Parameters
	if len(parameters) == 0 {
		parameters = []byte(`{"type":"object"}`)
	}
	schema, err := tools.CompileSchema(parameters)
	if err == nil {
		_, err = schema.Arguments(c.Arguments)
	}
	if err != nil {
		return fmt.Sprintf("the reply ends with a call of the tool %q whose arguments do not fit: %v", c.Name, err)
	}
	return ""
}

// isPlain reports whether a text is meant as a call, whatever is wrong with it: it begins with a
// mark of calls, is one call of an offered tool in Python, or an object with the keys of a call.
func (l *LeftCalls) isPlain(body string) bool {
	switch head, _ := l.headAt(strings.TrimLeft(body, "["), 0, true); head.form { //nolint:exhaustive // others are not plain
	case leftTag:
		return true
	case leftCall:
		return !strings.Contains(body, "\n")
	}
	return (strings.Contains(body, `"name"`) || strings.Contains(body, `"function"`)) && (strings.Contains(body, `"arguments"`) || strings.Contains(body, `"parameters"`))
}

// leftPolicies read what stands between tags.
var leftPolicies = []Format{Hermes, looseDeepSeek, LFM, Olmo, FunctionGemma, XML, Mistral, Llama, Pythonic, GLM, Kimi, DeepSeek, Harmony}
