package markdownpolicy

import (
	"strings"

	"github.com/segue-go/segue/markdownpolicy/internal/commonmark"
	"github.com/segue-go/segue/markdownpolicy/internal/jsonscan"
	"github.com/segue-go/segue/markdownpolicy/internal/textscan"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Fenced is the default policy. A call is a JSON object in a fenced code block named tool_call. A
// thought is the text of a block named thought.
//
//	```tool_call
//	{"name":"get_weather","arguments":{"city":"Paris"}}
//	```
//
// Fenced also accepts habits of models. A block that is named json or has no name, or an object in
// prose, is a call if it has the keys "name" and "arguments" and no others. A list of such objects
// is several calls. If Options.Tools are given, an object in prose must have the name of a tool,
// and must not follow an open backquote on its line, or be on a line that begins with ">" or is
// indented as code. After the name of a known tool, the arguments may have the key "parameters",
// but not if they are a schema: then they define the tool. An object in prose is not a call within
// other JSON, or what is nearly JSON, such as a Python dict. A block of calls may hold several
// objects, or a list. All other blocks are text. Blocks are found by the rules of CommonMark; the
// last may have no end.
//
// To show such a block without a call, write a backslash before it. The backslash is removed.
var Fenced = Format{row: &row{
	name: "fenced",
	told: `You can call tools. Write each call as a fenced code block named tool_call. In it stands one JSON object with two keys: ` +
		`"name" is the name of the tool, "arguments" is an object that fits its schema. You can make several calls, one block after the other. ` + showInstead,
	results: fencedResults,
	syntax:  func(f Format) syntax { return f.fencedSyntax() },
	write: func(f Format, parts []messages.AssistantContent) string {
		thought := func(text string) string { return commonmark.WriteFence(infoThought, text) }
		return writeParts(parts, "\n\n", f.escapeFenced, thought, func(c messages.ToolCall) string {
			return commonmark.WriteFence(infoCall, fencedForm.write(c))
		})
	},
}}

const (
	infoCall    = "tool_call"
	infoThought = "thought"
	infoResult  = "tool_result"
)

var fencedForm = callForm{name: "name", arguments: "arguments"}

func fencedResults(outputs []messages.ToolOutput) string {
	blocks := make([]string, len(outputs))
	for i, o := range outputs {
		about := jsonscan.AppendString([]byte(infoResult+` name=`), o.ToolName)
		about = jsonscan.AppendString(append(about, ` call_id=`...), o.CallID)
		about = jsonscan.AppendString(append(about, ` status=`...), resultStatus(o))
		blocks[i] = commonmark.WriteFence(strings.ReplaceAll(string(about), "`", "'"), resultText(o))
	}
	return withNext(blocks, "\n\n", outputs, goOn)
}

func (o Options) fencedSyntax() *fencedSyntax { return &fencedSyntax{mode: o.Mode, tools: o.Tools} }

// escapeFenced writes a text so that it is read back unchanged, whatever blocks follow it.
func (o Options) escapeFenced(text string) string {
	s := o.fencedSyntax()
	s.mode, s.followed = ModeError, true
	var b strings.Builder
	e := fencedEscape{fencedSyntax: s, written: &b, unclosed: map[byte]int{}}
	from := 0
	for {
		at, found := s.find(text, from, true)
		b.WriteString(text[from:at])
		from = at
		if !found {
			b.WriteString(text[from:])
			return b.String()
		}
		end := e.literalEnd(text, at)
		if end == at {
			b.WriteByte('\\')
			end += s.markLength(text, at)
		}
		b.WriteString(text[at:end])
		from = end
	}
}

// fencedSyntax is the [syntax] of [Fenced], for one reply.
type fencedSyntax struct {
	mode  Mode
	tools []tools.Definition

	followed bool // the text is a part of a reply that goes on

	inCode  bool             // within a block that is text
	code    commonmark.Fence // the block
	object  objectBlock
	objects jsonscan.Ends
	values  jsonscan.Loose
	quoting commonmark.Quoting
}

// find implements [syntax]. Marks are the runs that begin a block, braces that may begin an object,
// brackets before such braces, and any of these after a backslash.
func (s *fencedSyntax) find(text string, from int, final bool) (int, bool) {
	if s.inCode {
		if !s.code.FindEnd(text, final) {
			return len(text), false
		}
		s.inCode, from = false, max(from, s.code.End)
	}
	for i := from; ; {
		if i = fencedLeads.Next(text, i); i == len(text) {
			break
		}
		escaped := i > from && text[i-1] == '\\'
		var behind int
		var kind markKind
		switch text[i] {
		case '{':
			kind = braceMark(text, i, escaped)
			behind = max(i+1, textscan.SkipRun(text, i, '{')-1)
		case '[':
			kind, behind = bracketMark(text, i, escaped), i+1
		default:
			behind = textscan.SkipRun(text, i, text[i])
			kind = fenceMark(text, i, behind, escaped)
		}
		if kind == markFound || kind == markMaybe && !final {
			if escaped {
				i--
			}
			return i, kind == markFound
		}
		i = behind
	}
	return pendingFrom(text, from, final), false
}

// fencedLeads are the first bytes of marks, except the backslash before a mark.
var fencedLeads = textscan.NewByteSet("`~{[")

type markKind uint8

const (
	markNone  markKind = iota
	markMaybe          // the text ends too early to decide
	markFound
)

// braceMark reports whether the brace at a position is a mark.
func braceMark(text string, at int, escaped bool) markKind {
	switch {
	case escaped:
		return callKey(text[at:])
	case at+1 == len(text):
		return markMaybe
	case text[at+1] == '"':
		return markFound
	case !textscan.IsBlank(text[at+1]):
		return markNone
	}
	if next := textscan.TrimLeft(text[at+1 : min(len(text), at+mostBlanks)]); next != "" && next[0] != '"' {
		return markNone
	}
	return markFound
}

// mostBlanks limits how many blanks are skipped at a brace.
const mostBlanks = 64

// callKey reports whether an object begins with a key of a call.
func callKey(object string) markKind {
	const most = mostBlanks + 16 // including the key
	rest := textscan.TrimLeft(object[1:min(len(object), most)])
	for _, key := range []string{`"` + fencedForm.name + `"`, `"` + fencedForm.arguments + `"`} {
		if strings.HasPrefix(rest, key) {
			return markFound
		}
		if strings.HasPrefix(key, rest) && len(object) < most {
			return markMaybe
		}
	}
	return markNone
}

// fenceMark reports whether a run of fence characters is a mark.
func fenceMark(text string, at, behind int, escaped bool) markKind {
	first := at
	if escaped {
		first = len(strings.TrimRight(text[:at], `\`))
	}
	switch {
	case commonmark.LineStart(text, first) < 0:
		return markNone
	case behind-at >= 3:
		return markFound
	case behind == len(text):
		return markMaybe
	default:
		return markNone
	}
}

// begin implements [syntax].
func (s *fencedSyntax) begin(text string, at int) block {
	switch text[at] {
	case '\\':
		return escapedMark{at: at, end: at + s.markLength(text, at)}
	case '{', '[':
		return s.beginObject(text, at, s.tools != nil && s.quoting.At(text, at))
	default:
		return &fencedBlock{syntax: s, fence: commonmark.Fence{Start: at}}
	}
}

// escapedMark is a mark with a backslash before it. It is text without the backslash.
type escapedMark struct{ at, end int }

func (m escapedMark) read(text string, _ bool) verdict {
	part := Part{Content: messages.Text{Text: text[m.at+1 : m.end]}, Start: m.at, End: m.end}
	return verdict{kind: isParts, end: m.end, parts: []Part{part}}
}

// bracketMark reports whether the bracket at a position is a mark: the beginning of a list of
// objects whose first object may be a call.
func bracketMark(text string, at int, escaped bool) markKind {
	switch yes, wait := jsonscan.BeginsObjects(text, at); {
	case wait:
		return markMaybe
	case !yes:
		return markNone
	case escaped:
		return callKey(text[jsonscan.SkipBlanks(text, at+1):])
	default:
		return markFound
	}
}

// fencedEscape determines where a text needs backslashes in order to be read as text.
type fencedEscape struct {
	*fencedSyntax
	written  *strings.Builder // the text before, as it will be read: with backslashes
	unclosed map[byte]int     // the least length of a run that closes no block
}

// literalEnd returns the position up to which the text at a mark may be written unchanged. It
// returns the position of the mark if a backslash is needed before it.
func (e *fencedEscape) literalEnd(text string, at int) int {
	s, c := e.fencedSyntax, text[at]
	isFence := c == '`' || c == '~'
	if n, ok := e.unclosed[c]; isFence && ok && textscan.SkipRun(text, at, c)-at >= n {
		return at
	}
	block := e.begin(text, at)
	v := block.read(text, true)
	if isFence {
		fenced := block.(*fencedBlock)
		f := &fenced.fence
		if s.inCode {
			s.inCode = s.code.FindEnd(text, true)
			f = &s.code
		}
		if fenced.cut || !f.Closed() && !f.None() {
			e.unclosed[c] = f.Length
			return at
		}
	}
	if v.kind != isText {
		return at
	}
	return v.end
}

// begin is begin of the syntax, but it determines from the written text whether a mark is shown as
// code, because a backslash before a fence moves the code that begins with it.
func (e *fencedEscape) begin(text string, at int) block {
	if c := text[at]; c == '{' || c == '[' {
		return e.beginObject(text, at, e.tools != nil && e.quoting.At(e.written.String(), e.written.Len()))
	}
	return e.fencedSyntax.begin(text, at)
}

// markLength returns the length of the mark at a position, without what may follow a fence of
// three.
func (s *fencedSyntax) markLength(text string, at int) int {
	switch text[at] {
	case '\\':
		return 1 + s.markLength(text, at+1)
	case '{':
		return 1
	case '[': // including the brace
		return jsonscan.SkipBlanks(text, at+1) + 1 - at
	default:
		return 3
	}
}
